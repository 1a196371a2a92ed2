"""Serve the hub's memory over MCP: on stdio, or as streamable HTTP with --http PORT (no database needed)."""

from __future__ import annotations

import argparse
import importlib
import socket
import sys
from collections.abc import Callable

from memoryhub.client import AsyncMemoryHub


def main(arguments: list[str]) -> int:
    """Runs until the client is gone; settings are MEMORYHUB_URL and MEMORYHUB_TOKEN."""
    options = parser().parse_args(arguments)
    try:
        hub = AsyncMemoryHub.from_env()
    except ValueError as problem:
        return failed(str(problem))
    try:
        if options.http:
            check_port(options.host, options.http)
        serve = load_server()
        if serve is None:
            return failed("The MCP SDK is not installed here: pip install 'mcp>=2,<3'.")
        if options.http:
            print(f"memoryhub mcp: http://{options.host}:{options.http}/mcp", file=sys.stderr)
        serve(hub, http_port=options.http, host=options.host)
    except KeyboardInterrupt:
        return 0
    except OSError as problem:
        return failed(f"Port {options.http} of {options.host} cannot be used: {problem.strerror or problem}.")
    return 0


def load_server() -> Callable[..., None] | None:
    """What serves, once nothing else refuses: the SDK takes half a second to load. None: the client stands alone, without
    the extra `mcp`."""
    try:
        return importlib.import_module("memoryhub.client.mcp").serve  # type: ignore[no-any-return]
    except ImportError:
        return None


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="memoryhub mcp", description=__doc__)
    parsed.add_argument("--http", type=port, metavar="PORT", help="serve streamable HTTP at /mcp of this port")
    parsed.add_argument("--host", default="127.0.0.1", help="address for --http; whoever reaches it acts as this agent")
    return parsed


def port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; take a number from 1 to 65535")
    return int(text)


def check_port(host: str, number: int) -> None:
    """Exits with a sentence if the port cannot be bound; the server itself would print a traceback."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tried.bind((host, number))


def failed(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1
