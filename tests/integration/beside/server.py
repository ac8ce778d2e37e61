"""A model server on the loopback, with the answers that the application of :mod:`.program` needs, in both protocols.

The model named in a request says what happens: ``busy`` is refused once with 429, ``refused`` always with 400,
``agent`` asks for a tool first; every other one answers.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
WORDS = ("one ", "two ", "three")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    refused_once = False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kind = self.path.rsplit("/", 1)[-1]
        if body["model"] == "refused":
            self._answer(400, {"error": {"message": "no such model", "type": "invalid_request_error"}})
        elif body["model"] == "busy" and not _Handler.refused_once:
            _Handler.refused_once = True
            self._answer(429, {"error": {"message": "busy"}}, {"retry-after-ms": "1"})
        elif body.get("stream", "/api/" in self.path) and not kind.startswith("embed"):
            _Handler.refused_once = False
            self._stream(_ollama_chunks(kind) if "/api/" in self.path else _openai_chunks(kind, body))
        else:
            _Handler.refused_once = False
            self._answer(200, _ollama(kind) if "/api/" in self.path else _openai(kind, body))

    def _answer(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, lines: list[str]) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if "/api/" in self.path else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for line in lines:
                raw = line.encode()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
            self.wfile.write(b"0\r\n\r\n")
        except ConnectionError:  # a reader may leave early
            self.close_connection = True


def _openai(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    if kind == "embeddings":
        vector = {"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}
        usage = {"prompt_tokens": 2, "total_tokens": 2}
        return {"object": "list", "model": body["model"], "data": [vector], "usage": usage}
    if kind == "responses":
        return _response("completed")
    message: dict[str, Any] = {"role": "assistant", "content": "".join(WORDS)}
    reason = "stop"
    if body["model"] == "agent" and body["messages"][-1]["role"] == "user":
        call = {"id": "call_1", "type": "function", "function": {"name": "ask", "arguments": '{"question": "which?"}'}}
        message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {"id": "r1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice],
            "usage": USAGE}  # fmt: skip


def _response(status: str) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "output_text", "text": "".join(WORDS), "annotations": []}
    message: dict[str, Any] = {"type": "message", "id": "m1", "role": "assistant", "content": [text]}
    message["status"] = "completed"
    usage = {"input_tokens": 11, "output_tokens": 3, "total_tokens": 14,
             "input_tokens_details": {"cached_tokens": 0},
             "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status, "output": [message],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": usage, "error": None,
            "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1}  # fmt: skip


def _openai_chunks(kind: str, body: dict[str, Any]) -> list[str]:
    if kind == "responses":
        events: list[dict[str, Any]] = [{"type": "response.created", "response": _response("in_progress")}]
        events += [
            {"type": "response.output_text.delta", "item_id": "m1", "output_index": 0, "content_index": 0,
             "delta": word, "logprobs": []}
            for word in WORDS
        ]  # fmt: skip
        events.append({"type": "response.completed", "response": _response("completed")})
        numbered = [event | {"sequence_number": number} for number, event in enumerate(events)]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in numbered]
    common = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    deltas: list[dict[str, Any]] = [{"content": word} for word in WORDS]
    choices: list[list[dict[str, Any]]] = [[{"index": 0, "delta": d, "finish_reason": None}] for d in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    chunks = [common | {"choices": choice} for choice in choices] + [common | {"choices": [], "usage": USAGE}]
    return [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]


_DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 3}


def _ollama(kind: str) -> dict[str, Any]:
    common = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    if kind == "embed":
        return common | {"embeddings": [[0.25, -0.5]], "prompt_eval_count": 2}
    return common | _DONE | _piece(kind, "".join(WORDS))


def _ollama_chunks(kind: str) -> list[str]:
    common = {"model": "m", "created_at": "2026-01-01T00:00:00Z"}
    chunks = [common | {"done": False} | _piece(kind, word) for word in WORDS]
    return [json.dumps(chunk) + "\n" for chunk in [*chunks, common | _DONE | _piece(kind, "")]]


def _piece(kind: str, text: str) -> dict[str, Any]:
    return {"response": text} if kind == "generate" else {"message": {"role": "assistant", "content": text}}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is no error of the test."""


@contextmanager
def model_server() -> Generator[str]:
    """Serve until the block is left; gives the base URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
