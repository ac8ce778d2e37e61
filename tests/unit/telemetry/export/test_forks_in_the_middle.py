"""A fork while another thread is in the middle of a write: the child has no such thread, and must not wait for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.telemetry.processes import agent, collecting, spans_in

CODE = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
from spanseal.telemetry.active import active
configure("a", export=sys.argv[1])
with run_span("parent"):
    span("one")
(sink,) = active().ledger._sinks
journal = sink._journal if hasattr(sink, "_journal") and not callable(sink._journal) else sink._store
taken = threading.Event()
def writes():
    with journal._sync_lock, journal._lock:
        if sys.argv[2] == "closed":  # as where a file is made anew and the old one closed
            os.close(journal._intents.fd)
        taken.set()
        time.sleep(60)
threading.Thread(target=writes, daemon=True).start()
taken.wait()
child = os.fork()
if child == 0:
    with run_span("child"):
        span("two")
    os._exit(0 if flush(10) else 3)
until = time.monotonic() + 20
done = (0, 0)
while not done[0]:
    if time.monotonic() > until:
        os.kill(child, signal.SIGKILL)
    time.sleep(0.01)
    done = os.waitpid(child, os.WNOHANG)
os._exit(abs(os.waitstatus_to_exitcode(done[1])))
"""


@pytest.mark.parametrize("files", ["open", "closed"])
def test_a_child_writes_to_a_folder(files: str, tmp_path: Path) -> None:
    agent(CODE, str(tmp_path / "spans"), files)
    assert [span.name for span in spans_in(tmp_path / "spans")].count("invoke_agent child") == 1


@pytest.mark.parametrize("files", ["open", "closed"])
def test_a_child_writes_to_a_spool(files: str, tmp_path: Path) -> None:
    with collecting(tmp_path / "collector") as collector:
        agent(CODE, collector.url, files, environ={"SPANSEAL_SPOOL_DIR": str(tmp_path / "spool")})
        assert [span.name for span in collector.spans()].count("invoke_agent child") == 1
