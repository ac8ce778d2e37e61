"""A tool: a function that the model may ask for, with its JSON Schema and the rule for its faults.

>>> @tool
... def double(n: int) -> int:
...     '''Twice the number.'''
...     return 2 * n
>>> double.spec.description, double(4)
('Twice the number.', 8)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, overload

from spanseal.errors import ToolFaultError, UsageError
from spanseal.genai.messages import ToolSpec
from spanseal.settings import Value
from spanseal.tools.annotation import is_json
from spanseal.tools.signature import Signature, signature_of
from spanseal.verification.json_schema_form import check_schema

TRANSIENT: tuple[type[Exception], ...] = (ToolFaultError, TimeoutError, ConnectionError)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Tool:
    """One tool.

    ``call`` takes the arguments by keyword and may be async. ``parameters`` is the JSON Schema of its arguments
    (input gate), ``returns`` that of its result (output gate), if any. An error in ``transient``, or a result that
    breaks ``returns``, is the world's fault and is tried ``attempts`` times in all, ``retry_delay`` seconds apart
    (doubled each time); give ``attempts=1`` to a tool that must not act twice. The model sees at most
    ``max_result_chars`` characters of a result, with a note when there were more.

    Raises :class:`UsageError` for an impossible name or schema.

    >>> now = Tool("now", "The time of day.", call=lambda: "12:00")
    >>> now.spec.name, now()
    ('now', '12:00')
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: dict(_ANY_OBJECT))
    call: Callable[..., Any] = field(kw_only=True)
    returns: Mapping[str, Any] | None = field(default=None, kw_only=True)
    transient: tuple[type[Exception], ...] = field(default=TRANSIENT, kw_only=True)
    attempts: int = field(default=3, kw_only=True)
    retry_delay: float = field(default=0.0, kw_only=True)
    max_result_chars: int = field(default=20_000, kw_only=True)
    signature: Signature | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"tool {self.name!r}: a name has 1 to 64 letters, digits, '_' or '-'")
        if not callable(self.call):
            raise UsageError(f"tool {self.name}: call is a function, not {type(self.call).__name__}")
        if not isinstance(self.description, str):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise UsageError(f"tool {self.name}: description is a text, not {type(self.description).__name__}")
        if Value(self.attempts, f"tool {self.name}: attempts").at_least(1) and self.retry_delay < 0:
            raise UsageError(f"tool {self.name}: retry_delay is at least 0")
        Value(self.max_result_chars, f"tool {self.name}: max_result_chars").at_least(1)
        if not is_json(self.parameters, self.parameters):
            raise UsageError(f"tool {self.name}: parameters must be JSON, which the model can be sent")
        check_schema(self.parameters, f"tool {self.name}: parameters")
        if self.parameters.get("type") != "object":
            raise UsageError(f"tool {self.name}: parameters must be a schema of type object")
        if self.returns is not None:
            check_schema(self.returns, f"tool {self.name}: returns")

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model sees it."""
        return ToolSpec(self.name, self.description, self.parameters)

    @property
    def is_async(self) -> bool:
        """True when ``call`` must be awaited."""
        return inspect.iscoroutinefunction(self.call) or inspect.iscoroutinefunction(
            getattr(self.call, "__call__", None)  # noqa: B004 - an object with an async __call__
        )

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Checked JSON arguments as keyword arguments of ``call`` (enums and dataclasses made)."""
        return dict(arguments) if self.signature is None else self.signature.bind(arguments)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, without gates or spans."""
        return self.call(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *, name: str = "", description: str = "", transient: tuple[type[Exception], ...] = TRANSIENT, attempts: int = 3,
    retry_delay: float = 0.0, max_result_chars: int = 20_000,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = "", **options: Any
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a :class:`Tool` of an annotated function; schema and description come from its signature and docstring.

    Raises :class:`UsageError` for a parameter without annotation or of a type that JSON cannot carry.

    >>> @tool(attempts=1)
    ... def order(product: str, count: int = 1) -> str:
    ...     '''Order a product.'''
    ...     return f"{count} x {product}"
    >>> order.parameters["required"]
    ['product']
    """

    def made(target: Callable[..., Any]) -> Tool:
        if isinstance(target, Tool):
            raise UsageError(f"tool: {target.name} is a Tool already")
        signature = signature_of(target)
        own = cast("str", getattr(target, "__name__", type(target).__name__))
        return Tool(
            name or own, description or signature.description, signature.parameters, call=target,
            returns=signature.returns, signature=signature, **options,
        )

    return made if function is None else made(function)
