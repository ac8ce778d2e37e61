"""What a command that was asked for JSON prints where it fails: one document on stdout all the same.

``verify``: its usual document with the verdict *unknown* and the one finding ``not-judged``. Every other command:
``{"error": {"type", "message"}}``. May import ``audit``'s verdict when it is needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON.

    >>> wants_json(["runs", "spans", "--json"]), wants_json(["show", "s", "--as", "json"]), wants_json(["runs", "s"])
    (True, True, False)
    """
    options = list(arguments)
    if "--" in options:
        options = options[: options.index("--")]
    return bool({"--json", "--as=json"} & set(options)) or ("--as", "json") in pairwise(options)


def failure_document(arguments: Sequence[str], kind: str, message: str) -> str:
    """The document for a failed command line; ``kind`` is the error's class, ``message`` its text.

    >>> failure_document(["runs", "nowhere", "--json"], "ReplayError", "nowhere: no such file")
    '{"error": {"type": "ReplayError", "message": "nowhere: no such file"}}'
    """
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command != "verify":
        return json.dumps({"error": {"type": kind, "message": message}})
    from spanseal.audit.findings import finding
    from spanseal.audit.verify import Verdict

    return json.dumps(Verdict("unknown", 0, "", (finding("not-judged", "", message),), {}, {}, ()).to_json())
