"""Lines made to be expensive: they are sealed, the store stays good, and what follows them is not held up."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, document, lines, span

from spanseal.audit.read import StoreReader
from spanseal.sealer import seal as seal_module
from spanseal.sealer import seal_limits as limits_module
from spanseal.sealer.seal import Sealer, SealReport
from spanseal.sealer.seal_limits import MAX_EXPANDED, MAX_PRIVATE, MAX_SCOPES, MAX_VALUES


def bare(trace: int, number: int, more: str = "") -> str:
    return f'{{"traceId":"{trace:032x}","spanId":"{number:016x}"{more}}}'


def line(spans: Iterable[str], resource: str = "{}") -> bytes:
    inner = ",".join(spans)
    return f'{{"resourceSpans":[{{"resource":{resource},"scopeSpans":[{{"spans":[{inner}]}}]}}]}}'.encode()


def attributes(count: int) -> str:
    return ',"attributes":[' + ",".join(f'{{"key":"k{number}","value":{{}}}}' for number in range(count)) + "]"


def sealed(kit: Kit, *raws: bytes) -> SealReport:
    """Seal, and make sure that everything comes back and verifies with content opened."""
    with kit.open() as writer:
        report = Sealer(writer).seal(lines(raws))
    assert [item.raw for item in StoreReader(kit.store, kit.content_keys).lines()] == list(raws)
    verdict = kit.verify(content=True)
    assert (verdict.verdict, codes(verdict)) == ("ok", set())
    return report


RESOURCE = '{"attributes":[{"key":"a","value":{"stringValue":"' + "x" * (1 << 20) + '"}}]}'
EXPENSIVE = {
    "a context that is repeated": line((bare(1, 1 + number) for number in range(MAX_EXPANDED >> 20)), RESOURCE),
    "more scopes than a group names": line(bare(1 + number, 1) for number in range(MAX_SCOPES + 1)),
    "more private values than a leaf counts": line([bare(1, 1, attributes(MAX_PRIVATE + 1))]),
    "more values than memory": b'{"resourceSpans":[' + b"{}," * MAX_VALUES + b"{}]}",
}


@pytest.mark.parametrize("raw", EXPENSIVE.values(), ids=EXPENSIVE)
def test_what_costs_too_much_is_sealed_raw_and_holds_nothing_up(tmp_path: Path, raw: bytes) -> None:
    kit = Kit(tmp_path)
    report = sealed(kit, document(span(1)), raw, document(span(2)))
    assert (report.spans, report.duplicates, report.unparsable) == (2, 0, 1)


def test_json_inside_content_counts_as_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "MAX_VALUES", 20_000)
    messages = "[" + ",".join(['{"role":"user"}'] * 20_001) + "]"
    told = json.dumps({"tool": json.dumps({"rows": [[number, [number]] for number in range(10_001)]})})
    assert not limits_module.worth_cutting(b"[" + b"{}," * 40_000)
    assert not limits_module.worth_cutting(b'[{"a":"\\\\"},' * 20_000)
    raws = document(span(1, content=messages)), document(span(2, content=told))
    assert sealed(Kit(tmp_path), *raws).spans == 2


def test_what_is_just_below_the_limits_is_sealed_span_by_span(tmp_path: Path) -> None:
    few = (MAX_EXPANDED >> 20) - 2
    raws = line((bare(1, 1 + number) for number in range(few)), RESOURCE), line([bare(2, 1, attributes(MAX_PRIVATE))])
    assert sealed(Kit(tmp_path), *raws).spans == few + 1


def test_lines_that_are_too_much_together_go_into_frames_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = Kit(tmp_path)
    raws = [document(span(number), service="s" * 400) for number in range(9)]
    monkeypatch.setattr(seal_module, "MAX_EXPANDED", 3 * len(raws[0]))
    assert sealed(kit, *raws).spans == 9
    assert kit.verify().covered["frames"] > 3


def test_many_spans_under_one_pair_of_ids_cost_no_more_than_others(tmp_path: Path) -> None:
    def seconds(kit: Kit, raw: bytes) -> float:
        with kit.open() as writer:
            start = time.process_time()
            assert Sealer(writer).seal(lines([raw])).spans == 16_000
            return time.process_time() - start

    named = [f',"name":"n{number}"' for number in range(16_000)]
    apart = seconds(Kit(tmp_path / "apart"), line(bare(1, 1 + at, name) for at, name in enumerate(named)))
    same = seconds(Kit(tmp_path / "same"), line(bare(1, 1, name) for name in named))
    assert same < 3 * apart + 0.2
