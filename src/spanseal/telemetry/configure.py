"""Switches telemetry on: provider, ledger, export. The only call of telemetry that raises, and only for wrong settings.

May import everything in this folder. DESIGN 4 and 10.3.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing.util
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from opentelemetry.instrumentation.threading import (  # pyright: ignore[reportMissingTypeStubs] - it ships no types
    ThreadingInstrumentor,
)

from spanseal.effects import Effects
from spanseal.errors import UsageError
from spanseal.settings import Durability, Settings, load_settings, state_dir
from spanseal.telemetry.active import Active, Capture, History, activate, active
from spanseal.telemetry.capture.streams.open_calls import drain, end_all
from spanseal.telemetry.export.folder import FolderExport
from spanseal.telemetry.export.sink import Health, Sink
from spanseal.telemetry.export.spool import Keeping, Spool
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.ledger.processor import LedgerProcessor
from spanseal.telemetry.plan import Asked, Plan, Redact, checked, headers_of, planned, route_of
from spanseal.telemetry.propagation.process_pools import carry, stop_carrying
from spanseal.telemetry.propagation.thread_callbacks import carry_into_threads, stop_carrying_into_threads
from spanseal.telemetry.providers import Installed, foreign_provider, install
from spanseal.telemetry.signals.set_up import signals_for
from spanseal.telemetry.signals.signals import Signals
from spanseal.telemetry.spans.limits import tell_limits

_EXIT_SECONDS: Final = 5.0
_WORKER_SECONDS: Final = 1.0  # a pool waits for its workers
_SIGNAL_SECONDS: Final = 2.0  # numbers and events are no evidence: an exit waits less for them
_log = logging.getLogger("spanseal")


@dataclass(slots=True)
class _State:
    asked: Asked | None = None
    installed: Installed | None = None
    at_exit: bool = False
    threads: bool = False
    by_default: bool = False
    signals: Signals | None = None


_state: Final = _State()


def configure(
    service_name: str | None = None,
    *,
    export: str | Path | None = None,
    capture: Capture | None = None,
    history: History | None = None,
    config: str | Path | None = None,
    effects: Effects | None = None,
    durability: Durability | None = None,
    redact: Redact | None = None,
) -> None:
    """Switch telemetry on for this process.

    ``export`` is a folder (made if missing), an ``http(s)://`` URL of an OTLP endpoint, or None: what
    ``SPANSEAL_EXPORT`` or the standard ``OTEL_EXPORTER_OTLP_*`` variables say, and nothing if they say nothing.
    ``capture`` is ``full`` or ``off``; by default full for a folder on this machine, off for what leaves it or goes
    through a provider that somebody else set up, unless ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` asks
    for content. ``history`` is ``full`` (the default) or ``delta``: inside a run a call records only the messages that
    are new since an earlier call, which spanseal's reader restores exactly and other viewers show as they are; n turns
    then cost O(n) bytes instead of O(n²). ``config`` names a ``spanseal.toml``; none is ever looked for.
    ``durability`` says when an ended span is on disk: ``sync`` before its ``end()`` returns, ``group`` (the default)
    written before and synced within ``group_ms`` milliseconds after, ``off`` never (what goes to a URL then waits in
    memory alone). ``redact`` lists what is masked before anything is recorded: classes (``secrets``, the default;
    ``email``, ``card``, ``iban``, ``all``, ``none``) and functions from a text to the text without what must not be
    kept.

    What spans measure (the conventions' metrics) and events (verdicts of checks, failed calls) go beside the spans: to
    ``/v1/metrics`` and ``/v1/logs`` of the same server, or into ``metrics-*.ndjson`` and ``logs-*.ndjson`` of the same
    folder; to the application's own meter and logger providers where it has some. ``SPANSEAL_METRICS=off``,
    ``SPANSEAL_EVENTS=off`` and the standard ``OTEL_METRICS_EXPORTER=none``, ``OTEL_LOGS_EXPORTER=none`` say no.

    Runs are carried into threads, pools of threads and of processes, single processes and callbacks of futures, unless
    ``SPANSEAL_THREADS=off`` (or ``threads`` in the file) says no. A second call that asks for the same does nothing;
    one that asks for something else raises UsageError, unless the first was not the application's own (zero-code, a
    worker). A wrong argument, variable or file raises SettingsError, naming the place. The caller is at fault in both.

    >>> import tempfile
    >>> configure("shop", export=tempfile.mkdtemp())
    >>> active().capture
    'full'
    >>> shutdown()
    """
    asked = checked(
        service_name=service_name, export=export, capture=capture, history=history, config=config, effects=effects,
        durability=durability, redact=redact,
    )
    if _state.by_default and _state.asked is not None and asked != _state.asked:
        shutdown()  # nobody asked for that by a call; this one does
    if _state.asked is not None:
        if asked != _state.asked:
            raise UsageError("configure() was called before with other arguments; call shutdown() first to change them")
        return
    settings = load_settings(file=asked.config)
    if foreign_provider():  # the standard endpoint is its exporters'
        settings = replace(settings, endpoint=None, endpoint_fault="")
    plan = planned(asked, export, settings)
    installed = install(service_name or settings.service_name or "unknown_service:python", settings)
    _switch_on(plan, installed, settings, effects or Effects())
    _state.asked, _state.installed = asked, installed
    if settings.threads:
        carry(configure_by_default, asked.for_workers())
    if not _state.at_exit:
        _state.at_exit = True
        atexit.register(shutdown)
        multiprocessing.util.register_after_fork(shutdown, _leave_in_order)


def configure_by_default(**arguments: Any) -> None:
    """:func:`configure` where the application did not call it itself: a later call of its own takes its place."""
    if _state.asked is not None:
        return
    _state.by_default = True
    try:
        configure(**arguments)
    finally:
        _state.by_default = _state.asked is not None


def flush(timeout: float = 30.0) -> bool:
    """True if every span that ended before the call has arrived where it is exported to, and none was lost.

    ``timeout`` in seconds. Without export there is nothing to deliver: True.

    >>> flush()
    True
    """
    delivered = _delivered(timeout)
    signals = _state.signals
    if signals is not None:
        guarded(lambda: signals.flush(min(timeout, _EXIT_SECONDS)))()
    return delivered is True


@guarded
def _delivered(timeout: float) -> bool:
    drain()  # streams that were dropped end first
    ledger = active().ledger
    return ledger is None or ledger.force_flush(int(timeout * 1000))


def health() -> Health:
    """How the exports of this process are doing: ok or not, what waits, what was lost or refused.

    >>> health()
    Health(ok=True, backlog_bytes=0, lost=0, refused=0, last_error='')
    """
    ledger = active().ledger
    return Health() if ledger is None else ledger.health()


def shutdown() -> None:
    """Deliver what can be delivered in a few seconds and switch off; :func:`configure` may be called again.

    What cannot be delivered stays in the spool, for the next process.

    >>> shutdown()  # nothing is on: nothing to do
    """
    _switch_off(_EXIT_SECONDS)


def _leave_in_order(_: object) -> None:
    """In a worker of ``multiprocessing``, which ends without ``atexit``: deliver what it has, before it ends."""
    multiprocessing.util.Finalize(None, _switch_off, (_WORKER_SECONDS,), exitpriority=0)


def _switch_off(seconds: float) -> None:
    asked, _state.asked = _state.asked, None
    installed, _state.installed = _state.installed, None
    _state.by_default = False
    if asked is None or installed is None:
        return
    ledger, signals = active().ledger, _state.signals
    _state.signals = None
    for step in (
        end_all,  # a stream that is open now is told as held
        lambda: ledger and ledger.shutdown(seconds),
        lambda: signals and signals.close(min(seconds, _SIGNAL_SECONDS)),
        lambda: _disconnect(installed),
        stop_carrying_into_threads,  # put on last, taken off first
        stop_carrying,
        _stop_threading,
    ):
        guarded(step)()  # a fault in one leaves the others to be done
    activate(None)


def _disconnect(installed: Installed) -> None:
    if installed.relay is not None:
        installed.relay.target = None
        installed.record_ours(on=False)


def _stop_threading() -> None:
    if _state.threads:
        _state.threads = False
        ThreadingInstrumentor().uninstrument()


def _switch_on(plan: Plan, installed: Installed, settings: Settings, effects: Effects) -> None:
    if not installed.own and (plan.asked_for_export or not _state.by_default):
        _say_limits(installed, plan)
    tell_limits(installed.provider)
    by_default: Capture = "full" if plan.folder is not None and installed.own else "off"
    ledger = None
    if installed.relay is not None:
        sinks = _sinks(plan, settings)
        ledger = LedgerProcessor(installed.provider, sinks, effects)
        installed.relay.target = ledger
        installed.record_ours(on=installed.own or bool(sinks))
    if settings.threads and not ThreadingInstrumentor().is_instrumented_by_opentelemetry:
        ThreadingInstrumentor().instrument()
        _state.threads = True
    if settings.threads:
        carry_into_threads()
    _state.signals = signals = signals_for(
        settings, effects, installed.provider, folder=plan.folder, url=plan.url, headers=headers_of(plan, settings)
    )
    activate(
        Active(
            capture=plan.capture or by_default,
            effects=effects,
            max_value_bytes=settings.max_value_bytes,
            provider=installed.provider,
            ledger=ledger,
            configured=True,
            history=plan.history,
            redactor=plan.redactor,
            stream_idle_seconds=settings.stream_idle_seconds,
            events=settings.content_on_events if settings.events is None else settings.events,
            content_on_events=settings.content_on_events,
            signals=signals,
        )
    )


def _sinks(plan: Plan, settings: Settings) -> list[Sink]:
    if plan.folder is not None:
        return [FolderExport(plan.folder, plan.durability, settings.group_ms)]
    if plan.url is None:
        return []
    keeping = Keeping(plan.durability, settings.group_ms, settings.spool_max_bytes, settings.spool_full)
    root = (settings.spool_dir or state_dir() / "spool").absolute()  # the process may change its folder
    return [Spool(route_of(plan.url, plan, settings), root, keeping)]


def _say_limits(installed: Installed, plan: Plan) -> None:
    if installed.relay is None:
        kind = type(installed.provider).__name__
        _log.warning(
            "the process's tracer provider (%s) takes no processors: spans are neither numbered nor kept", kind
        )
        return
    content = "" if plan.capture else 'content is not recorded unless SPANSEAL_CAPTURE or capture= says "full", '
    _log.warning(
        "a tracer provider was there already: %sspans of other instrumentations that its sampler drops are not "
        "recorded, its exporters get their spans unredacted, and its limits may drop attributes",
        content,
    )
