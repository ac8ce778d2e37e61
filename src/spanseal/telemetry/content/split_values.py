"""Values to be masked that lie in pieces: over the chunks of a stream, over the tokens of log probabilities.

No piece alone gives the value away, and all together do. May import active and the wire's JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spanseal.genai.wire_json import JsonObject, is_list, is_map, loads_received, render
from spanseal.telemetry.active import active
from spanseal.telemetry.content.redaction.detectors import mark
from spanseal.telemetry.content.redaction.redact import struck

_TELLING: Final = ("index", "output_index", "content_index", "item_id")
"""Which of several texts a chunk goes on with."""
_WORDS: Final = frozenset({
    "id", "object", "model", "type", "role", "created_at", "system_fingerprint", "item_id", "finish_reason",
    "service_tier", "obfuscation", "done_reason", "status",
})

_Place = tuple[int, Any, Any]
"""Which document, which object or list in it, and the key or index there."""


def masked_texts(texts: Sequence[str], secrets: tuple[str, ...] = ()) -> list[str]:
    """The texts of a stream's chunks with what is masked in their contents put together masked in each piece.

    ``secrets`` are the client's own keys. What stands for the value is in the piece where it begins. Chunks in which
    nothing is masked stay word for word.

    >>> masked_texts(['{"content":"Bearer abcd"}', '{"content":"efghijkl!"}'])
    ['{"content":"[redacted:bearer:19]"}', '{"content":"!"}']
    """
    documents = [_parsed(text) for text in texts]
    strings: dict[tuple[Any, ...], list[_Place]] = {}
    for number, document in enumerate(documents):
        _gather(document, (), number, strings)
    changed: set[int] = set()
    for places in strings.values():
        pieces = [holder[key] for _, holder, key in places]
        old = "".join(pieces)
        new = active().redactor.text(struck(old, secrets))
        if new != old:
            for (number, holder, key), piece in zip(places, _spread(pieces, old, new), strict=True):
                if holder[key] != piece:
                    holder[key] = piece
                    changed.add(number)
    if changed:
        changed |= {number for number, document in enumerate(documents) if _without_tokens(document)}
    return [render(documents[at]) if at in changed else text for at, text in enumerate(texts)]


def without_tokens(text: str) -> str:
    """A response in which something is masked, without the log probabilities' copy of it, token by token.

    >>> without_tokens('{"content":[{"token":"ann@","logprob":-0.1,"bytes":[97],"top_logprobs":[]}]}')
    '{"content":[{"token":"[redacted:token-text:4]","logprob":-0.1,"bytes":null,"top_logprobs":[]}]}'
    """
    document = _parsed(text)
    return render(document) if _without_tokens(document) else text


def _parsed(text: str) -> Any:
    try:
        return loads_received(text)
    except ValueError:
        return None


def _gather(value: Any, path: tuple[Any, ...], number: int, found: dict[tuple[Any, ...], list[_Place]]) -> None:
    if is_map(value):
        path = (*path, tuple(str(value.get(key)) for key in _TELLING))
        for key, item in value.items():
            _take(value, key, item, (*path, key), number, found)
    elif is_list(value):
        for at, item in enumerate(value):
            _take(value, at, item, (*path, at if isinstance(item, str) else ""), number, found)


def _take(
    holder: Any, key: Any, item: Any, path: tuple[Any, ...], number: int, found: dict[tuple[Any, ...], list[_Place]]
) -> None:
    if not isinstance(item, str):
        _gather(item, path, number, found)
    elif key not in _WORDS:
        found.setdefault(path, []).append((number, holder, key))


def _spread(pieces: Sequence[str], old: str, new: str) -> list[str]:
    """``new`` cut up like ``old``; all that differs is in the piece where the difference begins."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    most = shorter - start
    same = next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
    end, middle = len(old) - same, new[start : len(new) - same]
    result: list[str] = []
    at = 0
    for piece in pieces:
        before, behind = piece[: max(0, start - at)], piece[max(0, end - at) :]
        begins = at <= start < at + len(piece)
        result.append(before + (middle if begins else "") + behind)
        at += len(piece)
    return result


def _without_tokens(value: Any) -> bool:
    """Hides the tokens everywhere in ``value``; whether there were any."""
    found = False
    for item in value.values() if is_map(value) else value if is_list(value) else ():
        found = _without_tokens(item) or found
    return (is_map(value) and _hidden(value)) or found


def _hidden(entry: JsonObject) -> bool:
    token = entry.get("token")
    if not isinstance(token, str) or "logprob" not in entry:
        return False
    entry["token"] = mark("token-text", len(token))
    if "bytes" in entry:
        entry["bytes"] = None
    if "top_logprobs" in entry:
        entry["top_logprobs"] = []
    return True
