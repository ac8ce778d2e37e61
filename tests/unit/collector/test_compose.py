"""docker-compose.yml, as far as it can be judged without Docker; the integration suite also gives it to compose's own
loader."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMPOSE = cast(dict[str, Any], yaml.safe_load((ROOT / "docker-compose.yml").read_text()))
SERVICES = cast(dict[str, dict[str, Any]], COMPOSE["services"])
VARIABLE = re.compile(r"\$\{env:(\w+)(:-)?")
CONFIGURED_BY = {"collector": "otelcol.yaml", "jaeger": "jaeger.yaml"}

each_service = pytest.mark.parametrize("name", SERVICES)


def bind_mounts() -> Iterator[tuple[str, Path]]:
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source, _, rest = mount.partition(":")
            if source.startswith("."):
                assert rest.endswith(":ro"), f"{name}: {mount} could be written from the container"
                yield name, ROOT / source


def named_volumes(name: str) -> set[str]:
    sources = {mount.partition(":")[0] for mount in SERVICES[name].get("volumes", [])}
    return {source for source in sources if not source.startswith(".")}


@each_service
def test_images_are_pinned_by_tag(name: str) -> None:
    image, _, tag = SERVICES[name]["image"].rpartition(":")
    assert image
    assert re.fullmatch(r"v?\d+\.\d+\.\d+", tag)


@each_service
def test_what_is_published_is_published_on_loopback(name: str) -> None:
    for port in SERVICES[name].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


def test_published_ports_differ() -> None:
    ports = [port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == len(set(ports)) > 3


def test_every_mounted_file_exists() -> None:
    mounted = list(bind_mounts())
    assert len(mounted) >= 6
    assert [str(path) for _, path in mounted if not path.exists()] == []


@each_service
def test_what_a_service_names_is_declared(name: str) -> None:
    service = SERVICES[name]
    assert named_volumes(name) <= set(COMPOSE["volumes"])
    assert set(service.get("networks", [])) <= set(COMPOSE["networks"])
    for other, wait in service.get("depends_on", {}).items():
        conditions = {"service_started", "service_completed_successfully"}
        if "healthcheck" in SERVICES[other]:
            conditions.add("service_healthy")
        assert wait["condition"] in conditions


def test_every_volume_and_network_is_used() -> None:
    assert set(COMPOSE["volumes"]) == {volume for name in SERVICES for volume in named_volumes(name)}
    assert set(COMPOSE["networks"]) == {net for service in SERVICES.values() for net in service.get("networks", [])}


@each_service
def test_least_privilege(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged", False)
    assert name.startswith("ollama") or service["read_only"] is True


@pytest.mark.parametrize(("name", "file"), CONFIGURED_BY.items())
def test_variables_given_and_variables_read_are_the_same(name: str, file: str) -> None:
    read = VARIABLE.findall((ROOT / "collector" / file).read_text())
    known = {variable for variable, _ in read}
    given = {variable for variable in SERVICES[name]["environment"] if variable.startswith("SPANSEAL_")}
    assert given <= known, "misspelt, or no longer read"
    assert {variable for variable, default in read if not default} <= given
    # Their defaults are those of a native run: loopback. A container that kept one would reach itself only.
    native = {variable for variable in known if re.search(r"(ENDPOINT|LISTEN_HOST|_DIR|TOKEN)$", variable)}
    assert native <= given


def test_only_the_sealer_and_keygen_see_the_keys() -> None:
    assert {name for name in SERVICES if "keys" in named_volumes(name)} == {"init-perms", "keygen", "sealer"}
    assert SERVICES["sealer"]["networks"] == ["audit"]
    assert COMPOSE["networks"]["audit"] == {"internal": True}
    assert "ports" not in SERVICES["sealer"]
    assert {name for name in SERVICES if "audit" in SERVICES[name].get("networks", [])} == {"collector", "sealer"}


def test_collector_and_sealer_share_one_token_that_must_be_given() -> None:
    tokens = {SERVICES[name]["environment"]["SPANSEAL_TOKEN"] for name in ("collector", "sealer")}
    (token,) = tokens
    assert token.startswith("${SPANSEAL_TOKEN:?")


def test_what_holds_data_has_time_to_stop() -> None:
    assert {SERVICES[name]["stop_grace_period"] for name in ("collector", "sealer")} == {"60s"}
    assert SERVICES["jaeger"]["environment"]["OTEL_TRACES_SAMPLER"] == "always_off"


def test_the_sealer_image_is_built_from_files_that_exist() -> None:
    build = SERVICES["sealer"]["build"]
    dockerfile = ROOT / build["dockerfile"]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile.read_text(), re.MULTILINE)
    sources = " ".join(copied).split()
    assert sources
    assert [source for source in sources if not (ROOT / source).exists()] == []
    allowed = dockerfile.with_name(dockerfile.name + ".dockerignore").read_text().splitlines()
    assert {f"!{source}" for source in sources} <= set(allowed)
