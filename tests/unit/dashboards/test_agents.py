"""The committed board is what its source makes, and holds together; real answers are the integration suite's part."""

from itertools import combinations
from pathlib import Path
from typing import Any, cast

import promql_parser
import pytest
import yaml
from dashboards.agents import COLUMNS, build
from dashboards.generate import BOARD, queries, text

BUILT = build()
PANELS = cast(list[dict[str, Any]], BUILT["panels"])
PROVISIONING = BOARD.parent / "provisioning"


def load(path: Path) -> dict[str, Any]:
    return cast(dict[str, Any], yaml.safe_load(path.read_text()))


def test_the_committed_file_is_what_the_source_makes() -> None:
    assert BOARD.read_bytes() == text().encode(), "run: python -m dashboards.generate"


def test_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS) > 10
    cells = [
        {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        for place in (panel["gridPos"] for panel in PANELS)
    ]
    assert not any(one & other for one, other in combinations(cells, 2))
    assert max(x for cell in cells for x, _ in cell) == COLUMNS - 1


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows(panel: dict[str, Any]) -> None:
    assert panel["title"]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    refs = [target["refId"] for target in panel["targets"]]
    assert len(set(refs)) == len(refs) > 0


def test_boards_use_provisioned_sources_only() -> None:
    sources = load(PROVISIONING / "datasources" / "spanseal.yml")["datasources"]
    provisioned = {(source["type"], source["uid"]) for source in sources}
    used = {(panel["datasource"]["type"], panel["datasource"]["uid"]) for panel in PANELS}
    used |= {(t["datasource"]["type"], t["datasource"]["uid"]) for panel in PANELS for t in panel["targets"]}
    assert used <= provisioned
    assert ("jaeger", "spanseal-jaeger") in provisioned


def test_the_provider_reads_where_compose_mounts_the_board() -> None:
    (provider,) = load(PROVISIONING / "dashboards" / "spanseal.yml")["providers"]
    compose = load(BOARD.parents[1] / "docker-compose.yml")
    mounts = compose["services"]["grafana"]["volumes"]
    assert f"./dashboards/agents.json:{provider['options']['path']}/agents.json:ro" in mounts
    assert provider["allowUiUpdates"] is False


@pytest.mark.parametrize(("title", "query"), queries(), ids=lambda value: value[:30])
def test_queries_are_promql_without_variables_left(title: str, query: str) -> None:
    assert title
    assert "$" not in query
    promql_parser.parse(query)
