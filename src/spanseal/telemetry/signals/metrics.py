"""Metrics of our own spans under the pinned conventions' names: to the application's meter provider, else to our own.

Recorded where spans end, so that every layer gets them and none can forget. Spans of other instrumentations are left
out: those bring their own metrics. May import active, genai and the siblings.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import active
from spanseal.telemetry.signals import instruments as made
from spanseal.telemetry.signals.instruments import Instrument
from spanseal.telemetry.signals.meters import Meters, application_provider
from spanseal.telemetry.signals.numbers import Labels, Numbers
from spanseal.telemetry.spans.attributes import plain_attributes

_CALL_KEYS: Final = (
    sc.OPERATION_NAME, sc.PROVIDER_NAME, sc.REQUEST_MODEL, sc.RESPONSE_MODEL, sc.SERVER_ADDRESS, sc.SERVER_PORT,
)
_TOOL_KEYS: Final = (sc.TOOL_NAME, sc.TOOL_TYPE, sc.AGENT_NAME, sc.ERROR_TYPE)
_AGENT_KEYS: Final = (sc.AGENT_NAME, sc.REQUEST_MODEL, sc.ERROR_TYPE)
_MOST_RUNS: Final = 10_000  # runs whose calls are counted and whose root has not ended


class Metrics:
    """What ended spans measure. ``own`` is where it goes if the application has no meter provider; None: nowhere.

    ``before_too`` records chat calls under the names that the pinned conventions replaced as well.
    """

    def __init__(self, own: Numbers | None = None, *, before_too: bool = False) -> None:
        self._own = own
        self.before_too = before_too
        self._meters: Meters | None = None
        self._calls: OrderedDict[str, list[int]] = OrderedDict()

    def record(self, span: ReadableSpan) -> None:
        """Record what an ended span says; a span that is not ours or of no known operation says nothing."""
        scope = span.instrumentation_scope
        if scope is None or scope.name != sc.SCOPE_NAME:
            return
        found = plain_attributes(span)
        operation = found.get(sc.OPERATION_NAME)
        target = None if operation is None else self._target()
        if target is None:
            return
        where = span.get_span_context()
        seconds = max(0, (span.end_time or 0) - (span.start_time or 0)) / 1e9
        if operation == sc.OP_EXECUTE_TOOL:
            self._called(found, 1)
            target.add([(made.TOOL, seconds)], _named(found, _TOOL_KEYS), where)
        elif operation == sc.OP_INVOKE_AGENT:
            self._agent(target, found, seconds, where)
        elif operation in sc.INFERENCE_OPERATIONS:
            self._called(found, 0)
            self._inference(target, found, seconds, where)
        elif operation == sc.OP_EMBEDDINGS:
            target.add([(made.OPERATION, seconds)], _kept(found, (*_CALL_KEYS, sc.ERROR_TYPE)), where)

    def chunks(self, span: SpanContext, attributes: Mapping[str, Any], gaps: Sequence[float]) -> None:
        """Record the seconds between the chunks of a stream, the first of which came with no gap."""
        target = self._target()
        if target is not None and gaps:
            target.add([(made.NEXT_CHUNK, gap) for gap in gaps], _kept(attributes, _CALL_KEYS), span)

    def _target(self) -> Meters | Numbers | None:
        provider = application_provider()
        if provider is None:
            return self._own
        meters = self._meters
        if meters is None or meters.provider is not provider:
            meters = self._meters = Meters(provider)
        return meters

    def _inference(
        self, target: Meters | Numbers, found: Mapping[str, Any], seconds: float, where: SpanContext | None
    ) -> None:
        labels = _kept(found, _CALL_KEYS)
        used = {key: count for key in made.SPENT if isinstance(count := found.get(key), int)}
        each: list[tuple[Instrument, float]] = [(made.EACH[key], used[key]) for key in made.EACH if key in used]
        first = found.get(sc.RESPONSE_TIME_TO_FIRST_CHUNK)
        if isinstance(first, float):
            each.append((made.FIRST_CHUNK, first))
        whole: list[tuple[Instrument, float]] = [(made.INFERENCE, seconds)]
        if self.before_too:
            whole.append((made.OPERATION, seconds))
            for key, kind in ((sc.USAGE_INPUT_TOKENS, "input"), (sc.USAGE_OUTPUT_TOKENS, "output")):
                if key in used:
                    target.add([(made.BEFORE, used[key])], {**labels, sc.TOKEN_TYPE_BEFORE: kind}, where)
        if sc.ERROR_TYPE in found:
            target.add(each, labels, where)
            target.add(whole, {**labels, sc.ERROR_TYPE: found[sc.ERROR_TYPE]}, where)
        else:
            target.add(each + whole, labels, where)
        spent: list[tuple[Instrument, float]] = [(made.SPENT[key], count) for key, count in used.items() if count > 0]
        if spent:
            target.add(spent, {**labels, sc.TOKEN_MODALITY: sc.MODALITY_UNKNOWN}, where)

    def _agent(
        self, target: Meters | Numbers, found: Mapping[str, Any], seconds: float, where: SpanContext | None
    ) -> None:
        inferences, tools = self._calls.pop(str(found.get(sc.RUN_ID)), (0, 0))
        target.add([(made.AGENT, seconds)], _named(found, _AGENT_KEYS), where)
        counted: list[tuple[Instrument, float]] = [(made.AGENT_INFERENCES, inferences), (made.AGENT_TOOLS, tools)]
        target.add(counted, _named(found, (sc.AGENT_NAME,)), where)

    def _called(self, found: Mapping[str, Any], kind: int) -> None:
        """A call belongs to its nearest run only, as the conventions want it."""
        run = found.get(sc.RUN_ID)
        if isinstance(run, str):
            self._calls.setdefault(run, [0, 0])[kind] += 1
            if len(self._calls) > _MOST_RUNS:
                self._calls.popitem(last=False)


def _kept(found: Mapping[str, Any], keys: tuple[str, ...]) -> Labels:
    return {key: found[key] for key in keys if key in found}


def _named(found: Mapping[str, Any], keys: tuple[str, ...]) -> Labels:
    """With names that the application gave, masked; what a call says was masked when its span got it."""
    masked = active().redactor.value
    return {key: masked(key, found[key]) for key in keys if key in found}
