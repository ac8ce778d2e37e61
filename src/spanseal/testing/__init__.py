"""Fakes that users get too: a scripted model and tools, fixed clock and ids, spans in memory.

May import everything below it.

>>> from spanseal.testing import ScriptedModel, capture_spans
>>> with capture_spans() as captured:
...     answer = ScriptedModel(["391"]).complete("What is 17 * 23?")
>>> answer.text, captured.one("chat").name
('391', 'chat scripted')
"""

from __future__ import annotations

from spanseal.testing.capture_spans import Captured, capture_spans
from spanseal.testing.fixed_effects import FixedClock, FixedEffects, FixedIds, FixedRandomness
from spanseal.testing.scripted_model import Answer, ScriptedModel
from spanseal.testing.scripted_tools import ScriptedTool

__all__ = [
    "Answer",
    "Captured",
    "FixedClock",
    "FixedEffects",
    "FixedIds",
    "FixedRandomness",
    "ScriptedModel",
    "ScriptedTool",
    "capture_spans",
]
