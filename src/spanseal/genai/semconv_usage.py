"""Token counts as the conventions' attributes, and back. Pure.

>>> usage_attributes(Usage(input_tokens=3))["gen_ai.usage.input_tokens"]
3
>>> usage_of({"gen_ai.usage.output_tokens": 5}.get).output_tokens
5
"""

from __future__ import annotations

from collections.abc import Callable

from spanseal.genai import semconv as sc
from spanseal.genai.messages import Usage
from spanseal.genai.wire_json import as_count, as_map


def usage_attributes(used: Usage) -> dict[str, int | None]:
    """The usage attributes; None for a number that the provider did not tell (0 is told).

    An estimate of ours has names of its own: ``gen_ai.usage.*`` is what a provider counted.

    >>> usage_attributes(Usage(3, 4, estimated=True))
    {'spanseal.usage.estimated.input_tokens': 3, 'spanseal.usage.estimated.output_tokens': 4}
    """
    if used.estimated:
        return {
            sc.USAGE_ESTIMATED_INPUT_TOKENS: used.input_tokens,
            sc.USAGE_ESTIMATED_OUTPUT_TOKENS: used.output_tokens,
        }
    return {
        sc.USAGE_INPUT_TOKENS: used.input_tokens,
        sc.USAGE_OUTPUT_TOKENS: used.output_tokens,
        sc.USAGE_REASONING_TOKENS: used.reasoning_tokens,
        sc.USAGE_CACHE_READ_TOKENS: used.cache_read_tokens,
        sc.USAGE_CACHE_WRITE_TOKENS: used.cache_write_tokens,
    }


def modality_attributes(read: object, written: object) -> dict[str, int | None]:
    """Tokens by modality, from the provider's details of input and of output; None where it did not tell.

    >>> modality_attributes({"audio_tokens": 7}, None)["gen_ai.usage.audio.input_tokens"]
    7
    """
    inward, outward = as_map(read), as_map(written)
    return {
        sc.USAGE_TEXT_INPUT_TOKENS: as_count(inward.get("text_tokens")),
        sc.USAGE_IMAGE_INPUT_TOKENS: as_count(inward.get("image_tokens")),
        sc.USAGE_AUDIO_INPUT_TOKENS: as_count(inward.get("audio_tokens")),
        sc.USAGE_TEXT_OUTPUT_TOKENS: as_count(outward.get("text_tokens")),
        sc.USAGE_IMAGE_OUTPUT_TOKENS: as_count(outward.get("image_tokens")),
        sc.USAGE_AUDIO_OUTPUT_TOKENS: as_count(outward.get("audio_tokens")),
    }


def usage_of(read: Callable[[str], int | None]) -> Usage:
    """The counts that a span tells; ``read`` gives an attribute as a whole number, None where it is none."""
    return Usage(
        input_tokens=read(sc.USAGE_INPUT_TOKENS),
        output_tokens=read(sc.USAGE_OUTPUT_TOKENS),
        reasoning_tokens=read(sc.USAGE_REASONING_TOKENS),
        cache_read_tokens=read(sc.USAGE_CACHE_READ_TOKENS),
        cache_write_tokens=read(sc.USAGE_CACHE_WRITE_TOKENS),
    )
