"""A store that was sealed when the format was fixed: it verifies and reads the same, for ever.

If this fails, the format was changed: such a change needs a new version and a new log, never another golden file.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.attacks.store_kit import codes

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.read import StoreReader
from spanseal.audit.trust import Trust
from spanseal.audit.verify import verify_store

GOLDEN: dict[str, Any] = json.loads(Path(__file__).with_name("golden_store_v1.json").read_bytes())


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    for name, content in GOLDEN["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    return folder


def test_it_verifies(base: Path) -> None:
    trust = Trust.parse(f"log {GOLDEN['vkey']}\nquorum none\n")
    for keys in (None, ContentKeys(base / "keys" / "content")):
        verdict = verify_store(base / "store", trust, None, keys)
        assert (verdict.exit_code, verdict.size) == (0, GOLDEN["size"])
    assert codes(verdict, "info") == {"no-witness", "unparsable-line", "input-gap", "conflict", "content-erased"}


def test_it_reads_the_same(base: Path) -> None:
    reader = StoreReader(base / "store", ContentKeys(base / "keys" / "content"))
    spans = [
        {
            "leaf": item.leaf_index, "span": item.span_id, "content": item.content,
            "conflict": item.conflict, "raw": item.raw.decode(),
        }
        for item in reader.spans()
    ]  # fmt: skip
    assert spans == GOLDEN["spans"]
    assert {item["content"] for item in spans} == {"open", "erased"}
    assert [item.raw.decode() if item.raw is not None else None for item in reader.lines()] == GOLDEN["lines"]
