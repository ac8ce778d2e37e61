"""Whatever of ours breaks during a call, the program sees what it would see without us, and so does its next call.

Found by running: a function that is new is broken here without a change to this file.
"""

from __future__ import annotations

import contextvars
import dataclasses
from typing import Any, Final

import pytest
from tests.unit.telemetry.seams.broken import broken, functions_run_by
from tests.unit.telemetry.seams.clients import made
from tests.unit.telemetry.seams.observed import Seen, differences, observe
from tests.unit.telemetry.seams.programs import RECORDED, Way, run
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.instrument import instrument

_NAMES: Final = {
    "openai:chat create": False, "openai:chat stream": True, "openai:responses stream": False,
    "ollama:chat": True, "ollama:generate stream": False,
}
WAYS: Final = [(way, _NAMES[str(way)]) for way in RECORDED if str(way) in _NAMES]
"""Every seam, and whether asynchronously; the functions behind are the same for all."""
KERNEL: Final = frozenset(
    {
        "guarded.<locals>.safe",
        *(f"{kind}_methods.<locals>.{name}" for kind in ("_sync", "_async") for name in ("request", "_send_request")),
        *(f"{kind}_methods.<locals>._request" for kind in ("_sync", "_async")),
        *(f"{kind}_send.<locals>.send" for kind in ("_sync", "_async")),
        "send_once", "asend_once",
        *(f"_SyncTee.{name}" for name in ("__iter__", "close")),
        *(f"_AsyncTee.{name}" for name in ("__aiter__", "aclose")),
        "_SyncReader.__next__", "_SyncReader.__iter__", "_SyncReader.close",
        *(f"_AsyncReader.{name}" for name in ("__aiter__", "__anext__", "asend", "athrow", "aclose", "_reported")),
        "_Tee.__del__", "_Tee.__getattr__",
        "_cleared", "_collector",  # called by garbage collection, which lets nothing through; they do next to nothing
    }
)
"""The frames that the program's own calls, bytes and exceptions pass through. They do nothing but pass them on and call
what is guarded; whatever else they called would show up below as a difference."""


def seen(way: Way, client: Any, log: list[Any], *, asynchronous: bool) -> dict[str, Any]:
    """What the program sees of one more call."""
    log.clear()
    found: Seen = observe(way, client, log, asynchronous=asynchronous)
    return dataclasses.asdict(dataclasses.replace(found, log=list(log)))


@pytest.mark.parametrize(("way", "asynchronous"), WAYS, ids=str)
def test_every_function_that_runs(way: Way, asynchronous: bool) -> None:
    """In a context of its own: what breaks right after it has made a span the current one leaves it so."""
    contextvars.copy_context().run(_break_every_function, way, asynchronous)


def _break_every_function(way: Way, asynchronous: bool) -> None:
    client, log = made(way.kind, asynchronous=asynchronous)
    run(way.run, client, asynchronous=asynchronous)
    bare = seen(way, client, log, asynchronous=asynchronous)
    faults: list[str] = []
    with recording() as exporter:
        instrument(client)
        ran = functions_run_by(lambda: run(way.run, client, asynchronous=asynchronous))
        tried = [function for function in ran if function.__code__.co_qualname not in KERNEL]
        for function in tried:
            name = f"{function.__globals__['__name__']}.{function.__code__.co_qualname}"
            for error, after in (("RecursionError", False), ("MemoryError", True)):
                with broken(function, error, after=after):
                    found = differences(seen(way, client, log, asynchronous=asynchronous), bare)
                faults += [f"{name} {error}: {each}" for each in found]
            exporter.clear()
            found = differences(seen(way, client, log, asynchronous=asynchronous), bare)
            if len(exporter.get_finished_spans()) != 1:
                found.append(f"{len(exporter.get_finished_spans())} spans")
            faults += [f"{name}, the next call: {each}" for each in found]
    assert not faults, "\n".join(faults)
    assert len(tried) > 40
