"""The small world in which the demo's agent works: a price list, an order book, and a calculator.

>>> price_of.call(item="lamp")
'A lamp costs 24 dollars.'
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spanseal.demo.calculator import calculate
from spanseal.errors import ModelFaultError
from spanseal.tools.tool import Tool, tool

PRICES = {"lamp": 24, "chair": 45, "table": 120, "shelf": 60}
CURRENCY = "dollars"


@tool
def calculator(expression: str) -> str:
    """Compute an arithmetic expression such as 5 * 7."""
    return str(calculate(expression))


@tool
def price_of(item: str) -> str:
    """Look up what one piece of a product costs."""
    name = _known(item)
    return f"A {name} costs {PRICES[name]} {CURRENCY}."


@dataclass
class OrderBook:
    """What was really ordered: the demo looks here to show that an action that was stopped never happened."""

    orders: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def tool(self) -> Tool:
        """The tool that places an order; it cannot be taken back."""

        @tool
        def order(item: str, count: int) -> str:
            """Buy a product. This cannot be undone."""
            name = _known(item)
            self.orders.append((name, count))
            return f"Ordered: {count} x {name}."

        return order


def _known(item: str) -> str:
    name = item.strip().lower()
    for candidate in (name, name.removesuffix("s"), name.removesuffix("es")):
        if candidate in PRICES:
            return candidate
    raise ModelFaultError(f"there is no product {item!r}; there are: {', '.join(sorted(PRICES))}")
