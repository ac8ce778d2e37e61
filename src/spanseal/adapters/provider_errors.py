"""What clients raise, as errors of :mod:`spanseal.errors` that say what to do. Keys never appear in them.

Works on what the exceptions of openai, ollama and httpx have in common, so it imports none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanseal.errors import (
    AuthenticationError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitedError,
    RequestRejectedError,
    UsageError,
)
from spanseal.telemetry.content.redaction.redact import scrubbed


def provider_error(error: Exception, where: str, *, key_setting: str, secrets: Sequence[str] = ()) -> ProviderError:
    """The error of ours for what a client raised while calling ``where`` (the URL).

    ``key_setting`` names the place where the key is set, for the remedy.
    """
    if isinstance(error, ProviderError):
        return error
    text = scrubbed(_text_of(error), tuple(secrets))[:500]
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return _by_status(error, status, text, where, key_setting)
    names = [base.__name__ for base in type(error).__mro__]
    if any("Timeout" in name for name in names):
        return ProviderTimeoutError(f"no answer from {where} in time: raise timeout=, or ask for fewer tokens")
    if any(name in ("APIConnectionError", "ConnectionError", "TransportError", "NetworkError") for name in names):
        cause = scrubbed(str(error.__cause__ or error), tuple(secrets))[:200]
        return ProviderUnavailableError(f"cannot reach {where} ({cause}): start the server there, or correct the URL")
    if isinstance(error, (ValueError, TypeError, AttributeError)) or "APIResponseValidationError" in names:
        return MalformedResponseError(
            f"{where} sent something that is not the protocol ({text}): is the URL that of the model's API, "
            "or is a proxy in between?"
        )
    return ProviderError(f"{where} failed: {text or type(error).__qualname__}")


def malformed(error: MalformedResponseError, where: str, secrets: Sequence[str] = ()) -> MalformedResponseError:
    """What the wire format found wrong with an answer, with the place it came from and without keys."""
    return MalformedResponseError(f"{where}: {scrubbed(str(error), tuple(secrets))}")


def unsent(error: Exception) -> UsageError:
    """The client could not even write the request."""
    return UsageError(
        f"the request cannot be sent ({error}): messages, options and further fields must be JSON, the key ASCII"
    )


def _by_status(error: Exception, status: int, text: str, where: str, key_setting: str) -> ProviderError:
    if status in (401, 403):
        return AuthenticationError(
            f"{where} refused the key (status {status}): check {key_setting}; is it for this server and model?",
            status=status,
        )
    if status == 429:
        wait = retry_after(error)
        when = f"wait {wait:g} s" if wait is not None else "wait a while"
        return RateLimitedError(
            f"{where} takes no more calls for now: {when}, or raise the quota ({text})", status=status, retry_after=wait
        )
    if status == 408 or status == 504:
        return ProviderTimeoutError(f"{where} gave up waiting (status {status}): ask for fewer tokens", status=status)
    if status in (502, 503):
        return ProviderUnavailableError(f"{where} is not ready (status {status}): try again ({text})", status=status)
    if status >= 500:
        return ProviderError(f"{where} failed (status {status}): look at the server's log ({text})", status=status)
    if status == 404:
        return RequestRejectedError(f"{where} knows no such model or path: check both ({text})", status=status)
    return RequestRejectedError(f"{where} refused the request (status {status}): {text}", status=status)


def retry_after(error: Exception) -> float | None:
    """Seconds that the provider asks to wait, from the response's headers; None where it does not tell."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if 0 <= seconds < 86_400:
            return seconds
    return None


def _text_of(error: Exception) -> str:
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        message: Any = body.get("message")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(message, str):
            return message
    if isinstance(body, str) and body:  # an error event that is a text
        return body
    said = getattr(error, "error", None)  # ollama's
    if isinstance(said, str) and said:
        return said
    return str(error)
