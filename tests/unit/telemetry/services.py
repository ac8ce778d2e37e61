"""Agents in processes of their own that call each other over HTTP, with W3C headers and nothing else between them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.unit.telemetry.processes import PRELUDE

CALLING = (
    PRELUDE
    + """
import urllib.request
from opentelemetry import context, propagate
def ask(url):
    headers = {}
    propagate.inject(headers)
    request = urllib.request.Request(url, b"", headers, method="POST")
    return urllib.request.urlopen(request, timeout=30).read().decode()
"""
)

SERVICE = (
    CALLING
    + """
import http.server
name, folder, how, below = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
configure(name, export=folder)
if how == "httpx":
    import httpx
    from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
    HTTPXClientInstrumentor().instrument()
    def ask(url):
        return httpx.post(url, trust_env=False, timeout=30).text
def serve():
    with tracer().start_as_current_span("serve " + name):
        if how == "foreign":
            doing = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
            with tracer().start_as_current_span("invoke_agent " + name, attributes=doing):
                return work()
        if how == "plain":
            return work()
        with run_span(name):
            return work()
def work():
    span("step " + name)
    return [ask(url) for url in below]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        headers = {key.lower(): value for key, value in self.headers.items()}
        token = context.attach(propagate.extract(headers))
        try:
            serve()
        finally:
            context.detach(token)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(headers.get("baggage", "").encode())
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
server.shutdown()
server.server_close()
shutdown()
"""
)


@contextmanager
def service(name: str, folder: Path, how: str, *below: str) -> Generator[str]:
    """The URL of the agent ``name``: ``ours`` by run_span, ``httpx`` the same with the official instrumentation,

    ``foreign`` as another framework's span, ``plain`` without a run. Its spans are in ``folder`` after the block.
    """
    command = [sys.executable, "-W", "error", "-c", SERVICE, name, str(folder), how, *below]
    environ = {**os.environ, "NO_PROXY": "*"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environ)
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert said == "", said
