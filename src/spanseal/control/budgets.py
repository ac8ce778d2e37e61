"""Budgets: an amount is reserved before it can be spent and settled after it was. Pure values.

>>> budget = Budget(100).reserve(60)
>>> budget.left, budget.settle(60, 45).left
(40, 55)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from spanseal.errors import BudgetExceededError, UsageError


@dataclass(frozen=True, slots=True)
class Budget:
    """``limit`` of something countable (tokens, calls, steps); ``used`` for good, ``reserved`` for what runs now."""

    limit: int
    used: int = 0
    reserved: int = 0

    def __post_init__(self) -> None:
        if min(self.limit, self.used, self.reserved) < 0:
            raise UsageError(f"Budget: no amount may be negative: {self}")

    @property
    def left(self) -> int:
        """What may still be reserved, never below 0."""
        return max(0, self.limit - self.used - self.reserved)

    def fits(self, amount: int) -> bool:
        """True when ``amount`` may be reserved now."""
        return self.used + self.reserved + amount <= self.limit

    def reserve(self, amount: int) -> Budget:
        """With ``amount`` set aside. Raises :class:`BudgetExceededError` when it does not fit."""
        if not self.fits(amount):
            raise BudgetExceededError(
                f"{amount} do not fit: {self.used} of {self.limit} used, {self.reserved} reserved"
            )
        return replace(self, reserved=self.reserved + amount)

    def settle(self, reserved: int, actual: int) -> Budget:
        """With a reservation closed by what was really used, even where that is more."""
        if reserved > self.reserved:
            raise UsageError(f"Budget: {reserved} were never reserved ({self.reserved} are)")
        return replace(self, used=self.used + actual, reserved=self.reserved - reserved)
