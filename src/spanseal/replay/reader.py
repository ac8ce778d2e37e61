"""Find runs in a source and give their model calls back, ready to be sent again. Executes nothing.

May import the siblings, ``records``, ``genai``, ``audit`` (through ``sources``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanseal.errors import ReplayError
from spanseal.genai.messages import ChatRequest, LLMResponse, Message
from spanseal.replay.build import build_run
from spanseal.replay.gather import gather
from spanseal.replay.inner_runs import related
from spanseal.replay.note import Note
from spanseal.replay.render.text import safe
from spanseal.replay.run import Replayable, Run
from spanseal.replay.sources import open_source
from spanseal.replay.sources.base import Source


class RunReader:
    """The runs of a source, read once, newest first. A path instead of a source is opened as :meth:`open` does.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "spans.jsonl").write_text("")
    >>> RunReader.open(folder).runs()
    ()
    """

    def __init__(self, source: Source | str | Path) -> None:
        self.source = open_source(source) if isinstance(source, str | Path) else source
        self._runs: tuple[Run, ...] | None = None
        self._strangers = 0

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        trust: str | Path | None = None,
        heads: str | Path | None = None,
        content_keys: str | Path | None = None,
        unverified: bool = False,
    ) -> RunReader:
        """A reader of an audit store, an export file or a folder of them; see :func:`open_source`."""
        return cls(open_source(path, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified))

    def runs(self) -> tuple[Run, ...]:
        """All runs, newest first."""
        if self._runs is None:
            groups, self._strangers = gather(self.source.read())
            found = related([build_run(group) for group in groups])
            self._runs = tuple(sorted(found, key=lambda run: (-run.started, run.run_id)))
        return self._runs

    def run(self, run_id: str) -> Run:
        """The run of this id, or of a prefix of a run or trace id that only one run has.

        Raises :class:`ReplayError` listing what there is, when none or several match.
        """
        wanted = (run_id, run_id.lower())  # ids that we give are lower hex; a foreign one may be anything
        exact = [[run for run in self.runs() if run.run_id == name] for name in wanted]
        matches = (
            exact[0]
            or exact[1]
            or [r for r in self.runs() if r.run_id.startswith(wanted) or r.trace_id.startswith(wanted)]
        )
        if len(matches) == 1:
            return matches[0]
        several = len({run.run_id for run in matches}) < len(matches)
        there = [_named(run, by_trace=several) for run in (matches or self.runs())[:20]]
        said = f"{len(matches)} runs match" if matches else "no run matches"
        listed = safe(", ".join(there)) or "none"
        raise ReplayError(f"{self.source.path}: {said} {run_id!r}; runs here: {listed}")

    @property
    def strangers(self) -> int:
        """How many spans belong to no agent's run."""
        self.runs()
        return self._strangers

    @property
    def notes(self) -> tuple[Note, ...]:
        """What reading the source found odd: skipped bytes, repetitions, ignored files."""
        self.runs()
        if not self._strangers:
            return self.source.notes
        meaning = f"{self._strangers} spans belong to no agent's run; not shown"
        return (*self.source.notes, Note("strangers", self.source.path.name, meaning))


def _named(run: Run, *, by_trace: bool) -> str:
    """How a run is told from the others; two may claim one run id, their traces differ."""
    known = ", ".join(filter(None, (run.agent, f"trace {run.trace_id}" if by_trace else "")))
    return f"{run.run_id} ({known})" if known else run.run_id


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One model call of a run. ``request`` can be sent to any adapter: ``adapter.chat(call.request)``; not where
    ``operation`` is embeddings: such a request has no messages, and its input is in ``options["extra"]["input"]``
    (``["prompt"]`` on Ollama's older path). ``wire`` names the wire format that the options are fields of.

    ``response`` is None where the call failed (``error`` says how) or its answer was not recorded; ``options`` are
    the request's fields other than model and messages that were set; ``grade`` is *exact* or *semantic*.

    >>> from spanseal.genai.messages import LLMResponse
    >>> asked = ChatRequest("m", (Message("user", "hi"),))
    >>> call = RecordedCall("chat", "openai.chat", asked.messages, asked, {}, LLMResponse("hello", "m"), "m", 12.5,
    ...                     "exact", "", "00f067aa0ba902b7", 1, 1, "")
    >>> call.request.messages[0].text, call.response.text
    ('hi', 'hello')
    """

    operation: str
    wire: str
    messages: tuple[Message, ...]
    request: ChatRequest
    options: Mapping[str, Any]
    response: LLMResponse | None
    model: str
    latency_ms: float | None
    grade: Replayable
    reason: str
    span_id: str
    step: int | None
    attempt: int
    error: str


def replay_llm_calls(run: Run) -> tuple[RecordedCall, ...]:
    """The model calls of a run that can be sent again, in the order they were made.

    Calls of which too little was recorded are left out; ``run.calls`` has them, with the reason.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "spans.jsonl").write_text("")
    >>> [call.model for run in RunReader.open(folder).runs() for call in replay_llm_calls(run)]
    []
    """
    return tuple(
        RecordedCall(
            operation=call.operation,
            wire=call.wire,
            messages=call.messages,
            request=call.request,
            options=_options(call.request),
            response=call.response,
            model=call.request.model or call.model,
            latency_ms=call.duration_ms,
            grade=call.replayable,
            reason=call.replay_reason,
            span_id=call.span_id,
            step=call.step,
            attempt=call.attempt,
            error=call.error,
        )
        for call in run.calls
        if call.request is not None and call.replayable != "no"
    )


def _options(request: ChatRequest) -> Mapping[str, Any]:
    names = ("temperature", "max_tokens", "top_p", "seed", "stop", "tools", "tool_choice", "response_format", "extra")
    told = {name: getattr(request, name) for name in names}
    return {name: value for name, value in told.items() if value is not None and value not in ((), {})}
