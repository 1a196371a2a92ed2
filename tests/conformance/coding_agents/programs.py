"""The real programs, started offline against a recorder on loopback: what they would send to a model."""

from __future__ import annotations

import http.server
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGES = {
    "claude-code": ("@anthropic-ai/claude-code-linux-x64", "2.1.327", "package/claude"),
    "codex": ("@openai/codex", "0.169.0-linux-x64", "package/vendor/x86_64-unknown-linux-musl/bin/codex"),
    "gemini-cli": ("@google/gemini-cli", "0.61.0", "package/bundle/gemini.js"),
    "opencode": ("opencode-linux-x64", "1.18.33", "package/bin/opencode"),
    "copilot-cli": ("@github/copilot-linux-x64", "1.0.102", "package/copilot"),
    "hermes": ("hermes-agent", "0.19.0", "bin/hermes"),
    "deepagents-code": ("deepagents-code", "0.1.57", "bin/dcode"),
}
FROM_PYPI = ("hermes", "deepagents-code")  # the others come from npm
LOADED = "<loaded_context>"


def cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memoryhub-coding-agents"


def install(agent: str) -> Path:
    """The program, fetched by npm or pip into the user's cache at the first time."""
    if agent in FROM_PYPI:
        return _install_with_pip(agent)
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise SystemExit("The pinned programs are for Linux on x86_64.")
    name, version, program = PACKAGES[agent]
    folder = cache() / f"{agent}-{version}"
    if not (folder / program).exists():
        folder.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, check=True, capture_output=True, text=True
        )
        archive = packed.stdout.split()[-1]
        subprocess.run(["tar", "xzf", archive], cwd=folder, check=True)
        (folder / archive).unlink()
    return folder / program


def _install_with_pip(agent: str) -> Path:
    name, version, program = PACKAGES[agent]
    folder = cache() / f"{agent}-{version}"
    if not (folder / program).exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", f"{name}=={version}"], check=True)
    return folder / program


class Recorder:
    """Keeps the bodies of all requests and refuses them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        recorder = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                recorder.bodies.append(self.rfile.read(int(self.headers.get("content-length") or 0)))
                answer = b'{"type":"error","error":{"type":"invalid_request_error","message":"recorded"}}'
                self.send_response(400)
                self.send_header("content-type", "application/json")
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

    def documents(self) -> list[Any]:
        self.server.shutdown()
        return [json.loads(body) for body in self.bodies if body.startswith(b"{")]


def run(command: list[str], start: Path, home: Path, **env: str) -> str:
    """What the program prints. It may fail: what it sent counts."""
    full = {"PATH": os.environ["PATH"], "HOME": str(home), **env}
    done = subprocess.run(command, cwd=start, env=full, stdin=subprocess.DEVNULL, capture_output=True, timeout=240)
    return done.stdout.decode("utf-8", "replace")


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def claude_code(start: Path, home: Path) -> str:
    """The files of the first message, from the first label on."""
    return after_heading(claude_message(start, home))


def claude_message(start: Path, home: Path) -> str:
    """The message with the files, its heading included."""
    recorder = Recorder()
    run([str(install("claude-code")), "-p", "hi"], start, home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_AUTOUPDATER="1",
        ANTHROPIC_API_KEY="x", ANTHROPIC_BASE_URL=recorder.url)  # fmt: skip
    found = [
        text
        for one in recorder.documents()
        for text in strings(one.get("messages"))
        if "Codebase and user instructions" in text
    ]
    return found[-1] if found else ""


def after_heading(text: str) -> str:
    """What follows the program's own words above the files."""
    at = text.find("\n\nContents of")
    return text[at:] if at >= 0 else ""


def codex(start: Path, home: Path) -> str:
    printed = run([str(install("codex")), "debug", "prompt-input", "x"], start, home)
    found = [text for text in strings(json.loads(printed)) if text.startswith("# AGENTS.md instructions")]
    return found[0] if found else ""


def gemini_cli(start: Path, home: Path) -> str:
    recorder = Recorder()
    run(["node", str(install("gemini-cli")), "-m", "gemini-2.5-pro", "-p", "hi", "--skip-trust"], start, home, GEMINI_API_KEY="x",
        GOOGLE_GEMINI_BASE_URL=recorder.url, GEMINI_CLI_TRUST_WORKSPACE="true", NO_BROWSER="1")  # fmt: skip
    document = recorder.documents()[0]
    system = document["systemInstruction"]["parts"][0]["text"]
    first = document["contents"][0]["parts"][0]["text"]
    pieces = [_loaded(system, system.rfind(f"\n\n{LOADED}\n")), _loaded(first, first.find(LOADED))]
    return "\n".join(piece for piece in pieces if piece)


def _loaded(text: str, at: int) -> str:
    piece = text[at:].lstrip("\n") if at >= 0 else ""
    return piece[: piece.rfind("</loaded_context>") + len("</loaded_context>")] if "--- Context from" in piece else ""


def opencode(start: Path, home: Path) -> str:
    recorder = Recorder()
    config = home / ".config" / "opencode"
    config.mkdir(parents=True, exist_ok=True)
    loop = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "loop",
        "options": {"baseURL": f"{recorder.url}/v1", "apiKey": "x"},
        "models": {"m": {"name": "m"}},
    }
    (config / "config.json").write_text(json.dumps({"provider": {"loop": loop}, "model": "loop/m"}))
    run(
        [str(install("opencode")), "run", "hi"],
        start,
        home,
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_AUTOUPDATE="1",
    )
    found = [text for one in recorder.documents() for text in strings(one.get("messages")) if "</env>" in text]
    text = found[0].partition("</env>\n")[2] if found else ""
    return f"\n{text}".partition("\nSkills provide")[0].removeprefix("\n")


def copilot_cli(start: Path, home: Path) -> str:
    """The instructions; of the table of files for some paths, without the words above it."""
    recorder = Recorder()
    run([str(install("copilot-cli")), "-p", "hi", "--allow-all-tools"], start, home, COPILOT_OFFLINE="true", COPILOT_PROVIDER_TYPE="openai",
        COPILOT_PROVIDER_BASE_URL=f"{recorder.url}/v1", COPILOT_PROVIDER_API_KEY="x", COPILOT_MODEL="gpt-4.1")  # fmt: skip
    found = [text for one in recorder.documents() for text in strings(one) if "</code_search_tools>" in text]
    text = found[0].partition("</code_search_tools>")[2].partition("</tools>\n\n")[2] if found else ""
    text = text.partition("<system_notifications>")[0]
    words, table, rows = text.partition("| Pattern |")
    kept = words[: words.rfind("\n\n", 0, words.rfind("Here is a list"))] + "\n\n" if table else words
    return (kept + table + rows).rstrip("\n")


def hermes(start: Path, home: Path) -> str:
    """Who it is, where a file says that, its context files and its memory; without its own words between them."""
    recorder = Recorder()
    config = home / ".hermes" / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    given = config.read_text() if config.exists() else ""
    config.write_text(f"{given}model:\n  provider: custom\n  default: m\n  base_url: {recorder.url}/v1\n  api_key: x\n")
    has_soul = (home / ".hermes" / "SOUL.md").exists()  # the program writes one where there is none
    run([str(install("hermes")), "-z", "hi"], start, home, OPENAI_API_KEY="x", OPENAI_BASE_URL=f"{recorder.url}/v1")
    found = [one["messages"][0]["content"] for one in recorder.documents() if one.get("messages")]
    text = found[0].partition("\n\nConversation started:")[0] if found else ""
    places = [at for at in (text.find(f"\n\n{mark}") for mark in ("# Project Context\n", "═" * 46)) if at >= 0]
    soul = text.partition("\n\nYou run on Hermes Agent")[0] if has_soul else ""
    soul = "" if soul.startswith("You are Hermes Agent,") else soul  # where the file says nothing
    return "\n\n".join(part for part in (soul, text[min(places) + 2 :] if places else "") if part)


def deepagents_code(start: Path, home: Path) -> str:
    """The block of memory, without the guidelines behind it."""
    recorder = Recorder()
    run([str(install("deepagents-code")), "-n", "hi", "--no-mcp", "-q", "-M", "openai:gpt-4.1", "--max-retries", "0"], start, home,
        OPENAI_API_KEY="x", OPENAI_BASE_URL=f"{recorder.url}/v1", OPENAI_API_BASE=f"{recorder.url}/v1", DEEPAGENTS_CODE_OFFLINE="1",
        DEEPAGENTS_CODE_AUTO_UPDATE="0")  # fmt: skip
    found = [text for one in recorder.documents() for text in strings(one) if "<agent_memory>\n" in text]
    end = "</agent_memory>"
    return found[0][found[0].find("<agent_memory>\n") : found[0].find(end) + len(end)] if found else ""


PROGRAMS = {
    "claude-code": claude_code,
    "codex": codex,
    "gemini-cli": gemini_cli,
    "opencode": opencode,
    "copilot-cli": copilot_cli,
    "hermes": hermes,
    "deepagents-code": deepagents_code,
}
