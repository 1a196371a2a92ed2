"""The console script `memoryhub`, and `manage.py`: finds the command and says in one sentence why it cannot run.

Our own commands are looked up by file name, which spares them Django's search through every app; Django's commands
(`migrate`, `shell`, …) work too, with the embedded database running around them.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import sys
from pathlib import Path
from typing import Any

from memoryhub import __version__
from memoryhub.management import terminal

COMMANDS = Path(__file__).parent / "management" / "commands"
STANDALONE = (
    "check",
    "context",
    "hook",
    "mcp",
    "sync",
)  # what runs anywhere: `main(arguments) -> int`, no Django, no database


def main() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        try:
            status = run(sys.argv[1:])
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still to be flushed at the end goes there
            status = 141
        sys.exit(status)
    sys.exit(130)


def run(arguments: list[str]) -> int:
    """Run one command line; the number is the exit status: 0 done, 1 could not, 2 not understood."""
    names = own_commands()
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview(names), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(__version__)  # noqa: T201
        return 0
    if not is_somewhere():
        gone = terminal.say("The folder this was started in is gone: go to another one and start again.")
        print(gone, file=sys.stderr)  # noqa: T201
        return 1
    name, rest = arguments[0], arguments[1:]
    if name in STANDALONE:
        return load(f"commands.{name}").main(rest) or 0
    if name == "laptop" and {"--list", "--json"} & {*rest}:
        return load("laptop_list").main(rest) or 0
    take_data_dir(rest)
    if name == "up":
        os.environ["MEMORYHUB_COLLECTED"] = "true"  # it collects static files itself; the settings have to know
    return load("with_django").run(name, rest, own=name in names) or 0


def load(module: str) -> Any:
    """A module of `management`, imported by the command lines alone that need it: a hook runs at each write of an agent and
    waits for neither Django nor what the other commands import."""
    return importlib.import_module(f"memoryhub.management.{module}")


def is_somewhere() -> bool:
    """Whether the current directory still exists; without one, children of this process cannot start."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def take_data_dir(arguments: list[str]) -> None:
    """`--data-dir` decides what the settings read, so it is taken before Django is loaded."""
    for position, argument in enumerate(arguments):
        if argument == "--data-dir" and position + 1 < len(arguments):
            os.environ["MEMORYHUB_DATA_DIR"] = arguments[position + 1]
        elif argument.startswith("--data-dir="):
            os.environ["MEMORYHUB_DATA_DIR"] = argument.partition("=")[2]


def own_commands() -> list[str]:
    return sorted(file.stem for file in COMMANDS.glob("*.py") if file.stem != "__init__")


def overview(names: list[str]) -> str:
    width = max(map(len, names))
    lines = [f"  {name:<{width}}  {terminal.say(_first_line(COMMANDS / f'{name}.py'))}".rstrip() for name in names]
    more = terminal.say("memoryhub COMMAND --help says more.")
    return "\n".join([terminal.say("usage: memoryhub COMMAND …"), "", terminal.say("commands:"), *lines, "", more])


def _first_line(file: Path) -> str:
    # Read, not imported: a list of commands must not need Django or a database.
    return (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
