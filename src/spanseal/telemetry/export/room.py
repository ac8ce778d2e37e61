"""How much a spool may take, and whether there is room. Pure arithmetic; imports nothing of spanseal.

Once full, it stays full until an eighth is free again: so a server that is a little too slow makes one gap of many
spans and not many of one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Room:
    """``most`` bytes for the spool's folder; ``others`` is what files of other processes take there.

    >>> room = Room(800)
    >>> room.admits(500, 100), room.admits(500, 400), room.admits(650, 100), room.admits(500, 100)
    (True, False, False, True)
    """

    most: int
    others: int = 0
    full: bool = False

    def admits(self, own: int, more: int) -> bool:
        """Whether ``more`` bytes may be written beside the ``own`` that this process has there."""
        bound = self.most - self.most // 8 if self.full else self.most
        self.full = own + self.others + more > bound
        return not self.full
