"""Real services for the tests in this folder, each started once per run and stopped at its end.

Before the first test everything is built or fetched, outside of any test's time limit; what the machine lacks ends the
run with one list. A test that needs a collector starts its own (`parts.services.collector`): what it sends and where
is what the test is about.
"""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.integration.line.running import Ran
from tests.integration.line.whole import Line, on_ollama, on_openai, whole_line
from tests.integration.parts import services
from tests.integration.parts.build import PARTS, build_all
from tests.integration.parts.missing import missing, report

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Have all parts ready, or say what is missing and stop."""
    ours = any(HERE in item.path.parents for item in session.items)
    if not ours or session.config.option.collectonly:
        return
    if lacks := missing():
        pytest.exit(report(lacks), returncode=2)
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    build_all(PARTS, terminal.write_line if terminal else print)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the services of this run keep their logs and data."""
    return tmp_path_factory.mktemp("services")


@pytest.fixture(scope="session")
def jaeger(run_folder: Path) -> Generator[services.Jaeger]:
    with services.jaeger(run_folder / "jaeger") as service:
        yield service


@pytest.fixture(scope="session")
def prometheus(run_folder: Path) -> Generator[services.Prometheus]:
    with services.prometheus(run_folder / "prometheus") as service:
        yield service


@pytest.fixture(scope="session")
def ollama(run_folder: Path) -> Generator[services.Ollama]:
    with services.ollama(run_folder / "ollama") as service:
        yield service


@pytest.fixture(scope="session")
def openai_server(run_folder: Path) -> Generator[services.OpenAIServer]:
    with services.openai_server(run_folder / "openai") as service:
        yield service


@pytest.fixture(scope="session")
def line(run_folder: Path, jaeger: services.Jaeger, prometheus: services.Prometheus) -> Generator[Line]:
    """Collector, Jaeger, Prometheus and sealer as one line, for what real agents send."""
    with whole_line(run_folder / "line", jaeger, prometheus) as whole:
        yield whole


@pytest.fixture(scope="session")
def openai_runs(line: Line, openai_server: services.OpenAIServer) -> Ran:
    return on_openai(line, openai_server)


@pytest.fixture(scope="session")
def ollama_runs(line: Line, ollama: services.Ollama) -> Ran:
    return on_ollama(line, ollama)


@pytest.fixture(params=["openai", "ollama"])
def ran(request: pytest.FixtureRequest) -> Ran:
    """What the same agents did on each model server; made once for all tests."""
    return request.getfixturevalue(f"{request.param}_runs")
