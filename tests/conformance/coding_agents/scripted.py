"""A model on loopback whose answers are scripted: it calls tools in order, then says that it is done."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

Call = tuple[str, dict[str, Any]]


class ScriptedModel:
    """Speaks the Messages API as far as Claude Code needs it; `results` are what its tools answered."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self.calls, self.bodies = list(calls), []  # type: ignore[var-annotated]
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                model.bodies.append(document)
                answer = model.answer(bool(document.get("tools")))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST

            def log_message(self, *_: object) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, has_tools: bool) -> bytes:
        if has_tools and self.calls:
            name, arguments = self.calls.pop(0)
            block = {"type": "tool_use", "id": f"toolu_{len(self.bodies)}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            return b"".join(events(block, delta, "tool_use"))
        return b"".join(events({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"))

    @property
    def results(self) -> list[str]:
        """What the tools answered, as the model was told."""
        found: dict[str, str] = {}
        for body in self.bodies:
            for message in body.get("messages", []):
                for block in message["content"] if isinstance(message["content"], list) else []:
                    if block.get("type") == "tool_result":
                        found[block["tool_use_id"]] = json.dumps(block.get("content"))
        return list(found.values())


def events(block: dict[str, Any], delta: dict[str, Any], stop: str) -> Iterator[bytes]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": [], "usage": usage}
    yield event("message_start", message=message)
    yield event("content_block_start", index=0, content_block=block)
    yield event("content_block_delta", index=0, delta=delta)
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 1})
    yield event("message_stop")


def event(name: str, **more: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **more})}\n\n".encode()
