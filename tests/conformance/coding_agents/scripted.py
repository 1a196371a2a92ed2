"""Models on loopback whose answers are scripted: they call tools in order, then say that they are done."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

Call = tuple[str, Any]


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
                answer = model.answer(document, self.path)
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

    def answer(self, document: dict[str, Any], path: str) -> bytes:
        if document.get("tools") and self.calls:
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


class ScriptedGemini(ScriptedModel):
    """Speaks the Gemini API as far as Gemini CLI needs it."""

    def answer(self, document: dict[str, Any], path: str) -> bytes:
        part: dict[str, Any] = {"text": "done"}
        if document.get("tools") and self.calls:
            name, arguments = self.calls.pop(0)
            part = {"functionCall": {"name": name, "args": arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        answer = json.dumps({"candidates": [candidate], "usageMetadata": {"totalTokenCount": 2}})
        return f"data: {answer}\r\n\r\n".encode() if "stream" in path else answer.encode()

    @property
    def results(self) -> list[str]:
        parts = [part for body in self.bodies for one in body.get("contents", []) for part in one.get("parts", [])]
        return list(dict.fromkeys(json.dumps(part["functionResponse"]) for part in parts if "functionResponse" in part))


class ScriptedOpenAI(ScriptedModel):
    """Speaks the chat completions API as far as OpenCode needs it."""

    def answer(self, document: dict[str, Any], path: str) -> bytes:
        delta: dict[str, Any] = {"role": "assistant", "content": "done"}
        reason = "stop"
        if document.get("tools") and self.calls:
            name, arguments = self.calls.pop(0)
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{len(self.bodies)}", "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        chunks = [
            {"index": 0, "delta": delta, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": reason},
        ]
        told = [
            json.dumps({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [one]}) for one in chunks
        ]
        return "".join(f"data: {one}\n\n" for one in [*told, "[DONE]"]).encode()

    @property
    def results(self) -> list[str]:
        told = [one for body in self.bodies for one in body.get("messages", []) if one.get("role") == "tool"]
        return list(dict.fromkeys(json.dumps(one) for one in told))


class ScriptedResponses(ScriptedModel):
    """Speaks the Responses API as far as Codex needs it; the arguments of a free-form tool are a text."""

    def answer(self, document: dict[str, Any], path: str) -> bytes:
        number, item = len(self.bodies), self._message(len(self.bodies))
        if document.get("tools") and self.calls:
            name, arguments = self.calls.pop(0)
            kind = {"type": "custom_tool_call", "input": arguments}
            if not isinstance(arguments, str):
                kind = {"type": "function_call", "arguments": json.dumps(arguments)}
            item = {"id": f"c_{number}", "call_id": f"call_{number}", "name": name, "status": "completed", **kind}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        answer = {"id": f"r_{number}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return b"".join((
            event("response.created", response={"id": answer["id"]}),
            event("response.output_item.added", output_index=0, item=item),
            event("response.output_item.done", output_index=0, item=item), event("response.completed", response=answer),
        ))  # fmt: skip

    @staticmethod
    def _message(number: int) -> dict[str, Any]:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        return {"type": "message", "id": f"m_{number}", "role": "assistant", "status": "completed", "content": content}

    @property
    def results(self) -> list[str]:
        told = [one for body in self.bodies for one in body.get("input", []) if isinstance(one, dict)]
        return list(dict.fromkeys(json.dumps(one) for one in told if str(one.get("type")).endswith("_call_output")))


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
