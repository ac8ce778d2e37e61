"""collector/*.yaml: what decides whether evidence gets lost, and that our binary has every component they name."""

import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from spanseal.records.export_files import is_beside, is_export

ROOT = Path(__file__).parents[3]
COLLECTOR = ROOT / "collector"
CONFIG = cast(dict[str, Any], yaml.safe_load((COLLECTOR / "otelcol.yaml").read_text()))
EXPOSED = cast(dict[str, Any], yaml.safe_load((COLLECTOR / "exposed.yaml").read_text()))
MANIFEST = cast(dict[str, Any], yaml.safe_load((COLLECTOR / "build/otelcol/manifest.yaml").read_text()))
COMPONENTS = (COLLECTOR / "build/otelcol/components.go").read_text()
PIPELINES = CONFIG["service"]["pipelines"]
KINDS = ("extensions", "receivers", "processors", "exporters", "connectors")

MODULE_OF = {"otlp_grpc": "otlpexporter", "otlp_http": "otlphttpexporter", "file_storage": "filestorage"}
"""Where a module's name is not the type's without underscores plus the kind."""


def test_the_audit_route_neither_batches_nor_rewrites_nor_drops() -> None:
    audit = PIPELINES["traces/audit"]
    assert audit["processors"] == ["memory_limiter"]
    assert audit["exporters"] == ["otlp_http/sealer", "file/archive"]


def test_what_goes_to_the_sealer_waits_on_disk_without_end() -> None:
    sealer = CONFIG["exporters"]["otlp_http/sealer"]
    assert sealer["retry_on_failure"]["enabled"] is True
    assert sealer["retry_on_failure"]["max_elapsed_time"] == "0s"
    queue = sealer["sending_queue"]
    assert queue["storage"] == "file_storage/queue"
    assert queue["sizer"] == "bytes"
    assert "batch" not in queue
    assert CONFIG["extensions"]["file_storage/queue"]["fsync"] is True
    assert (sealer["encoding"], sealer["compression"]) == ("json", "none")


def test_the_archive_keeps_every_file() -> None:
    archive = CONFIG["exporters"]["file/archive"]
    assert archive["rotation"]["max_backups"] == 0
    assert archive["rotation"]["max_days"] == 0
    assert not {"group_by", "compression", "append"} & set(archive)


def test_the_view_acknowledges_before_it_sends() -> None:
    view = PIPELINES["traces/view"]
    assert view["processors"][-1] == "batch"
    assert "filter/view" in view["processors"]
    assert view["processors"].index("filter/view") < view["processors"].index("redaction")


def test_events_lie_beside_the_archive_under_a_name_that_readers_of_spans_pass_by() -> None:
    assert PIPELINES["logs"]["exporters"] == ["file/events"]
    assert "redaction" in PIPELINES["logs"]["processors"]
    path = Path(CONFIG["exporters"]["file/events"]["path"])
    assert path.parent == Path(CONFIG["exporters"]["file/archive"]["path"]).parent
    assert is_beside(path.name)
    assert not is_export(path.name)


def test_every_default_address_is_loopback() -> None:
    for file in ("otelcol.yaml", "jaeger.yaml"):
        text = (COLLECTOR / file).read_text()
        hosts = re.findall(r"\$\{env:SPANSEAL_(?:LISTEN_HOST|\w+_ENDPOINT):-(?:http://)?([^:}]+)", text)
        assert hosts
        assert set(hosts) == {"127.0.0.1"}
        assert "0.0.0.0" not in text


def test_pipelines_name_what_is_configured() -> None:
    for pipeline in PIPELINES.values():
        assert set(pipeline["receivers"]) <= set(CONFIG["receivers"]) | set(CONFIG["connectors"])
        assert set(pipeline["processors"]) <= set(CONFIG["processors"])
        assert set(pipeline["exporters"]) <= set(CONFIG["exporters"]) | set(CONFIG["connectors"])
    assert CONFIG["service"]["extensions"] == list(CONFIG["extensions"])


def used() -> set[tuple[str, str]]:
    parts = [(kind, name) for config in (CONFIG, EXPOSED) for kind in KINDS for name in config.get(kind, {})]
    return {(kind, name.partition("/")[0]) for kind, name in parts}


def module(kind: str, name: str) -> str:
    return MODULE_OF.get(name, name.replace("_", "") + kind.removesuffix("s"))


@pytest.mark.parametrize(("kind", "name"), sorted(used()))
def test_our_binary_has_the_component(kind: str, name: str) -> None:
    modules = [entry["gomod"].split()[0].rpartition("/")[2] for entry in MANIFEST[kind]]
    assert module(kind, name) in modules
    assert f"{module(kind, name)}.NewFactory()" in COMPONENTS


def test_our_binary_has_no_other_component() -> None:
    built = {(kind, e["gomod"].split()[0].rpartition("/")[2]) for kind in KINDS for e in MANIFEST[kind]}
    assert built == {(kind, module(kind, name)) for kind, name in used()}


def test_components_and_builder_are_of_one_release() -> None:
    version = MANIFEST["dist"]["version"]
    listed = [entry["gomod"].split()[1] for kind in KINDS for entry in MANIFEST[kind]]
    assert set(listed) == {f"v{version}"}
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert compose["services"]["collector"]["image"].endswith(f":{version}")
