"""The one tree of errors: who is at fault, and what to do next. Imports nothing.

::

    SpansealError
    ├── UsageError            the caller: a wrong argument, option or setting
    │   └── SettingsError     …in a setting; names its place (argument, variable, file and line)
    ├── ProviderError         the model's provider; the run records it and ends *failed* or retries
    │   ├── ProviderUnavailableError   nobody answers: start the server, check the URL
    │   ├── ProviderTimeoutError       it took too long: raise the timeout, ask for less
    │   ├── RateLimitedError           too many calls: wait (``retry_after`` seconds where told)
    │   ├── AuthenticationError        the key is missing or refused: check the key
    │   ├── RequestRejectedError       the request was refused (4xx): the message says which part
    │   └── MalformedResponseError     the answer is not what the protocol says: a proxy, a wrong URL
    ├── ModelFaultError       the model: an unknown tool, malformed arguments; goes back to it as feedback
    ├── BudgetExceededError   the run: what it wants to spend does not fit its budget; nothing was spent
    ├── ToolFaultError        the world behind a tool: time-out, rate limit, malformed payload
    ├── DataError             bytes that are not what they claim to be
    │   ├── OtlpError         …an export line or a span; carries the byte offset
    │   └── FormatError       …a note, tile, proof, leaf, frame or trust file
    ├── StoreError            the audit store or its disk
    │   ├── NotAStoreError    the folder is no audit store
    │   ├── StoreLockedError  another sealer writes it
    │   └── StoreStoppedError the store may not be written any more (failed fsync, lost or changed data)
    ├── TrustError            no keys to believe, or a wrong key file
    └── ReplayError           a recorded run that cannot be read or found as asked
        └── BadStoreError     …because the audit store that holds it does not verify

A module may refine one of them for its own readers (``FrameDamageError``, ``HeadError``).
Every message names the place and what to do; ``str(error)`` is fit to be shown to a user as it is.
"""

from __future__ import annotations


class SpansealError(Exception):
    """Base of every error that spanseal raises on purpose. Catch it to tell ours from bugs.

    >>> try:
    ...     raise SettingsError("SPANSEAL_CAPTURE: 'some' is not one of off, full")
    ... except SpansealError as error:
    ...     print(error)
    SPANSEAL_CAPTURE: 'some' is not one of off, full
    """


class UsageError(SpansealError):
    """The caller is at fault: a wrong argument, option or combination. Fix the call."""


class SettingsError(UsageError):
    """A setting has an impossible value; the message names the setting's place and the allowed values."""


class ProviderError(SpansealError):
    """The provider of the model is at fault. ``status`` is the HTTP status where there was one."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class ProviderUnavailableError(ProviderError):
    """Nobody answered at the URL. Start the server or correct the URL."""


class ProviderTimeoutError(ProviderError):
    """No answer in time. Raise the timeout or ask for fewer tokens."""


class RateLimitedError(ProviderError):
    """The provider refuses more calls for now; ``retry_after`` says how many seconds, where it told."""


class AuthenticationError(ProviderError):
    """The key is missing or refused. Check the key's setting; the key itself is never shown."""


class RequestRejectedError(ProviderError):
    """The provider refused this request (4xx); the message carries its reason."""


class MalformedResponseError(ProviderError):
    """The answer is not what the protocol says. Often a proxy page or a wrong URL."""


class ModelFaultError(SpansealError):
    """The model asked for something impossible; the text is the feedback it gets."""


class BudgetExceededError(SpansealError):
    """A reservation does not fit any more; nothing was spent. Raise the budget, or ask for less."""


class ToolFaultError(SpansealError):
    """The world behind a tool failed after the allowed attempts."""


class DataError(SpansealError):
    """Bytes are not what they claim to be. Whoever wrote them is at fault; nothing was changed."""


class OtlpError(DataError):
    """An export line or span that is not strict OTLP JSON. ``offset`` is the byte where reading stopped."""

    def __init__(self, message: str, *, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


class FormatError(DataError):
    """A note, tile, proof, leaf, segment frame or trust file in a form that is not the canonical one."""


class StoreError(SpansealError):
    """The audit store cannot do what was asked; the message says what it is in the way."""


class NotAStoreError(StoreError):
    """The folder is not an audit store (or does not exist)."""


class StoreLockedError(StoreError):
    """Another sealer holds the store's lock; there is one writer per store."""


class StoreStoppedError(StoreError):
    """The store may not be written any more: an fsync failed, or its data were lost or changed."""


class TrustError(SpansealError):
    """There is no key to believe, or the key or trust file is not one."""


class ReplayError(SpansealError):
    """A recorded run cannot be found or read as asked; the message lists what there is."""


class BadStoreError(ReplayError):
    """The audit store does not verify, so nothing was read from it. The message names what was found."""


def text_of(error: BaseException) -> str:
    """An exception's text, whatever its ``__str__`` does: where that fails, the name of its class."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the object's fault; its type still tells something
        return type(error).__qualname__


def told(error: BaseException) -> str:
    """``Type: text`` of an exception, whatever its ``__str__`` does.

    >>> told(ValueError("odd"))
    'ValueError: odd'
    """
    name, text = type(error).__name__, text_of(error)
    return f"{name}: {text}" if text and text != type(error).__qualname__ else name
