"""Seals until the system refuses to let files grow, then goes on with more room. Run as a process of its own.

``python -m tests.unit.audit.full_disk_driver BASE``: prints one JSON object with what was observed.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from tests.attacks.store_kit import Kit, codes, document, lines, span

from spanseal.errors import StoreError
from spanseal.sealer.seal import Sealer


def main(base: Path) -> dict[str, Any]:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    kit, (_, hard) = Kit(base), resource.getrlimit(resource.RLIMIT_FSIZE)
    raws = [document(span(number, 1, chr(number + 500) * 3000)) for number in range(30)]
    batches = [lines([raw], start=number * 40_000) for number, raw in enumerate(raws)]
    with kit.open() as writer:
        sealer, sealed, refused = Sealer(writer), 0, ""
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try:
            for batch in batches:
                sealer.seal(batch)
                sealed += 1
        except StoreError as error:
            refused = str(error)
        verdict = kit.verify(content=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        for batch in batches[sealed:]:
            sealer.seal(batch)
    after = kit.verify(content=True)
    return {
        "sealed": sealed, "refused": refused, "spans": verdict.covered["spans"], "bad": sorted(codes(verdict)),
        "final": after.verdict, "final_spans": after.covered["spans"],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
