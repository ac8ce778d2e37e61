"""The stated rule for models that refuse a sampling parameter, as newer reasoning models do. Pure.

On a 400 that says a parameter is not supported: ``max_tokens`` is sent as ``max_completion_tokens`` and
``temperature`` is left out, the call is made once more for each, and the adapter remembers it from then on. A call
that the rule changed says so on its span (event ``spanseal.llm.parameter_rule``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from spanseal.errors import ProviderError
from spanseal.genai import semconv as sc

_RULES: Final[Mapping[str, str]] = {"max_tokens": "max_completion_tokens", "temperature": ""}
_UNSUPPORTED: Final = re.compile(r"unsupported|not support|only the default|unrecognized|unknown param", re.I)


class ParameterRule:
    """What one adapter has learnt about its model.

    >>> rule = ParameterRule()
    >>> refusal = ProviderError("Unsupported parameter: 'max_tokens' is not supported", status=400)
    >>> rule.learns(refusal, {"max_tokens": 5}), rule.learns(refusal, rule.applied({"max_tokens": 5}))
    (True, False)
    >>> rule.applied({"max_tokens": 5, "model": "m"})
    {'max_completion_tokens': 5, 'model': 'm'}
    """

    def __init__(self) -> None:
        self._refused: frozenset[str] = frozenset()

    def learns(self, error: ProviderError, sent: Mapping[str, Any]) -> bool:
        """Whether the refusal names a parameter of what was ``sent`` that a rule helps with: then another try pays.

        A call that was under way while another one learnt the same is tried again too.
        """
        text = str(error)
        if error.status != 400 or not _UNSUPPORTED.search(text):
            return False
        for name in _RULES:
            if name in sent and re.search(rf"\b{name}\b", text):
                self._refused |= {name}
                return True
        return False

    def applied(self, body: dict[str, Any]) -> dict[str, Any]:
        """``body`` with what was learnt, order kept."""
        if not self._refused & body.keys():
            return body
        changed: dict[str, Any] = {}
        for key, value in body.items():
            name = _RULES[key] if key in self._refused else key
            if name:
                changed.setdefault(name, value)
        return changed

    def events(self, body: Mapping[str, Any], sent: Mapping[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """One span event for each parameter of ``body`` that :meth:`applied` has changed in what is ``sent``."""
        return [
            (sc.EVENT_PARAMETER_RULE, {sc.PARAMETER_NAME: name, sc.PARAMETER_SENT_AS: _RULES[name]})
            for name in _RULES if name in body and name not in sent
        ]
