"""Tools that follow a script: for tests of agents, and for demonstrations of faults.

>>> rates = ScriptedTool("rates", [TimeoutError("busy"), {"eur": 1.1}])
>>> rates.tool.name
'rates'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spanseal.tools.tool import Tool


class ScriptedTool:
    """A tool whose calls give the ``outcomes`` one after the other; an exception is raised, a function is called
    with the arguments, anything else is returned. The last outcome repeats.

    ``calls`` keeps the arguments of every call that passed the input gate, in order. ``options`` are those of
    :class:`Tool` (``returns``, ``attempts``, …). With ``is_async`` the tool must be awaited.
    """

    def __init__(
        self, name: str, outcomes: Sequence[object], *, description: str = "Follows a script.",
        parameters: Mapping[str, Any] | None = None, is_async: bool = False, **options: Any,
    ) -> None:
        if not outcomes:
            raise ValueError(f"ScriptedTool {name}: give at least one outcome")
        self.outcomes = tuple(outcomes)
        self.calls: list[dict[str, Any]] = []

        async def later(**arguments: Any) -> Any:
            return self._next(arguments)

        def now(**arguments: Any) -> Any:
            return self._next(arguments)

        target: Callable[..., Any] = later if is_async else now
        self.tool = Tool(name, description, parameters or {"type": "object"}, call=target, **options)

    def _next(self, arguments: dict[str, Any]) -> Any:
        outcome = self.outcomes[min(len(self.calls), len(self.outcomes) - 1)]
        self.calls.append(arguments)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome(**arguments) if callable(outcome) else outcome
