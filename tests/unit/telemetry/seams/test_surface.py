"""What a program finds when it looks at its client instead of calling it, and the parts of its own that it put in."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
import wrapt
from tests.unit.telemetry.seams.clients import KEY, made, openai_client
from tests.unit.telemetry.seams.observed import plain
from tests.unit.telemetry.seams.programs import MESSAGES
from tests.unit.telemetry.seams.servers import transport
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.instrument import instrument, uninstrument

each = pytest.mark.parametrize(("kind", "asynchronous"), [(k, a) for k in ("openai", "ollama") for a in (False, True)])


def ask(client: Any, **more: Any) -> Any:
    """One call."""
    return client.chat.completions.create(model="m", messages=MESSAGES, **more)


def looks(client: Any) -> dict[str, Any]:
    """What can be seen of a client without calling it."""
    kind: Any = client.__class__
    http: Any = client._client
    methods = ("request", "_request", "_send_request", "copy", "chat", "__init__")
    shown: dict[str, Any] = {name: getattr(kind, name, None) for name in methods}
    shown = {name: method for name, method in shown.items() if inspect.isfunction(method)}
    return {
        "names": (kind.__name__, kind.__qualname__, kind.__module__, kind.__doc__, http.__class__.__name__, repr(kind)),
        "signatures": {name: str(inspect.signature(method)) for name, method in shown.items()},
        "methods": {name: (m.__name__, m.__qualname__, m.__doc__, m.__module__) for name, m in shown.items()},
        "waits": {name: inspect.iscoroutinefunction(method) for name, method in shown.items()},
        "send": str(inspect.signature(http.__class__.send)),
        "held": (sorted(client.__dict__), sorted(http.__dict__)),
        "repr": repr(client).partition(" at ")[0],
        "seen": [name for name in dir(client) if not name.startswith("__")],
        "pickled": _outcome(lambda: pickle.dumps(client)),
        "deep": _outcome(lambda: copy.deepcopy(client)),
    }


def _outcome(call: Callable[[], Any]) -> Any:
    try:
        return plain(call())
    except Exception as error:
        return plain(error)


@each
def test_looked_at(kind: str, asynchronous: bool) -> None:
    client, _ = made(kind, asynchronous=asynchronous)
    bare = looks(client)
    assert looks(instrument(client)) == bare
    assert looks(uninstrument(client)) == bare


class Kept(openai.OpenAI):
    """A client of a program that found a way to pickle its clients."""

    def __reduce__(self) -> Any:
        return (Kept._made, (self.max_retries,))

    @staticmethod
    def _made(max_retries: int) -> Kept:
        return Kept(api_key=KEY, base_url="http://o.test", max_retries=max_retries)


def test_what_is_pickled_is_the_programs_own() -> None:
    client = instrument(Kept(api_key=KEY, base_url="http://o.test", max_retries=7))
    back = pickle.loads(pickle.dumps(client))
    assert type(back) is Kept
    assert back.max_retries == 7
    assert type(copy.copy(client)) is type(client)


class Registry(openai.OpenAI):
    """Keeps a list of its subclasses and wants a keyword of them."""

    known: list[type] = []  # noqa: RUF012 - that is the point

    def __init_subclass__(cls, *, shelf: str, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Registry.known.append(cls)


def test_no_subclass_is_announced() -> None:
    sends, _ = transport("openai")
    client = instrument(openai_client(sends, False, Registry))
    with recording() as exporter:
        ask(client)
        assert len(exporter.get_finished_spans()) == 1
    assert Registry.known == []
    assert type(uninstrument(client)) is Registry


def test_a_class_that_the_program_drops_goes_away() -> None:
    def once() -> int:
        sends, _ = transport("openai")
        local = type("Local", (openai.OpenAI,), {})
        ask(instrument(openai_client(sends, False, local)))
        return id(local)

    with recording():
        dropped = once()
    gc.collect()
    assert all(id(known) != dropped for known in openai.OpenAI.__subclasses__())


def test_through_a_transparent_proxy() -> None:
    client, _ = made("openai", asynchronous=False)
    proxy: Any = wrapt.ObjectProxy(client)
    with recording() as exporter:
        assert instrument(proxy) is proxy
        ask(proxy)
        ask(client)
        assert len(exporter.get_finished_spans()) == 2
        uninstrument(proxy)
    assert type(client) is openai.OpenAI


class Reading(httpx2.Client):
    """A program's own HTTP client, which looks at every body and at how it was asked for."""

    def send(self, request: Any, **kwargs: Any) -> Any:
        response = super().send(request, **kwargs)
        if not kwargs.get("stream"):
            self.headers["x-last"] = str(len(response.text))
        self.asked = [*getattr(self, "asked", ()), kwargs.get("stream")]
        return response


def test_a_send_of_the_programs_own() -> None:
    sends, log = transport("openai")
    http: Any = Reading(transport=sends)
    client = instrument(openai.OpenAI(api_key=KEY, base_url="http://o.test", http_client=http))
    with recording() as exporter:
        ask(client)
        list(ask(client, stream=True))
        spans = exporter.get_finished_spans()
    assert http.asked == [False, True]
    assert len(spans) == 2
    assert all("spanseal.llm.response.body" in (span.attributes or {}) for span in spans)
    assert log[-1] == ("body closed",)


@pytest.mark.parametrize("instrumented", [False, True])
def test_hooks_and_authentication_see_the_same(instrumented: bool) -> None:
    seen: list[Any] = []

    def asked(request: Any) -> None:
        seen.append((sorted(request.extensions), request.headers.raw))

    def answered(response: Any) -> None:
        seen.append((response.is_closed, hasattr(response, "_content"), type(response.stream).__name__))

    def signed(request: Any) -> Any:
        request.headers["x-signed"] = "yes"
        return request

    sends, log = transport("openai")
    http = httpx2.Client(transport=sends, event_hooks={"request": [asked], "response": [answered]}, auth=signed)
    client = openai.OpenAI(api_key=KEY, base_url="http://o.test", http_client=http)
    with recording():
        ask(instrument(client) if instrumented else client, timeout=3)
    assert seen[0][0] == ["timeout"]
    assert seen[1] == (False, False, "BoundSyncStream")
    assert (b"x-signed", b"yes") in log[0][3]
    assert log[0][5] == {"connect": 3, "read": 3, "write": 3, "pool": 3}
