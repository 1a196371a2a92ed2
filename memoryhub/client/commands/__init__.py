"""The command line of the client where no hub is installed: `memoryhub mcp` and `memoryhub sync`."""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys

from memoryhub import __version__

COMMANDS = {
    "mcp": "serve the hub's memory over MCP",
    "sync": "keep a directory equal to the published files",
}
USAGE = "\n".join([
    "usage: memoryhub COMMAND …", "", "commands of the client:", *(f"  {name:<5} {does}" for name, does in COMMANDS.items()), "",
    "Everything else runs where the hub is installed. memoryhub COMMAND --help says more.",
])  # fmt: skip


def main() -> None:
    """What the script `memoryhub` of the client's wheel runs; beside a hub it is the hub's own command line."""
    if importlib.util.find_spec("memoryhub.__main__"):
        runpy.run_module("memoryhub", run_name="__main__", alter_sys=True)
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs one command; 0 done, 1 could not, 2 not understood."""
    name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if name in COMMANDS:
        return importlib.import_module(f"memoryhub.client.commands.{name}").main(rest) or 0
    if name == "--version":
        print(__version__)
        return 0
    if name in ("-h", "--help", "help"):
        print(USAGE)
        return 0
    print(f"The client has no command {name!r}.\n{USAGE}" if name else USAGE, file=sys.stderr)
    return 2
