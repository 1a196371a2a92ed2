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

from memoryhub.errors import HubError
from memoryhub.management import terminal

COMMANDS = Path(__file__).parent / "management" / "commands"
STANDALONE = (
    "check",
    "context",
    "hook",
    "mcp",
    "sync",
)  # what runs anywhere: `main(arguments) -> int`, no Django, no database
WITHOUT_DATABASE = ("makemigrations", "collectstatic", "findstatic", "diffsettings", "help")


def main() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(run(sys.argv[1:]))
    sys.exit(130)


def run(arguments: list[str]) -> int:
    """Run one command line; the number is the exit status: 0 done, 1 could not, 2 not understood."""
    names = own_commands()
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview(names), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(own_version())  # noqa: T201
        return 0
    if not is_somewhere():
        gone = terminal.say("The folder this was started in is gone: go to another one and start again.")
        print(gone, file=sys.stderr)  # noqa: T201
        return 1
    name, rest = arguments[0], arguments[1:]
    if (name in STANDALONE or (name == "laptop" and {"--list", "--json"} & {*rest})) and name in names:
        return importlib.import_module(f"memoryhub.management.commands.{name}").main(rest) or 0
    take_data_dir(rest)
    if name == "up":
        os.environ["MEMORYHUB_COLLECTED"] = "true"  # it collects static files itself; the settings have to know
    return run_with_django(name, rest, own=name in names)


def is_somewhere() -> bool:
    """Whether the current directory still exists; without one, children of this process cannot start."""
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("memoryhub")
    except PackageNotFoundError:
        return "from a checkout that is not installed"


def take_data_dir(arguments: list[str]) -> None:
    """`--data-dir` decides what the settings read, so it is taken before Django is loaded."""
    for position, argument in enumerate(arguments):
        if argument == "--data-dir" and position + 1 < len(arguments):
            os.environ["MEMORYHUB_DATA_DIR"] = arguments[position + 1]
        elif argument.startswith("--data-dir="):
            os.environ["MEMORYHUB_DATA_DIR"] = argument.partition("=")[2]


def run_with_django(name: str, arguments: list[str], *, own: bool) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryhub.settings")
    # Django, and what needs it, is loaded for those commands alone that use it: a hook runs at each write of an agent.
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
        from memoryhub import languages  # it needs the settings

        languages.speak(terminal.language())
        if own:
            command = importlib.import_module(f"memoryhub.management.commands.{name}").Command()
            command.run_from_argv(["memoryhub", name, *arguments])
            return 0
        return run_django_command(name, arguments)
    except (ImproperlyConfigured, HubError, PermissionError) as error:
        print(terminal.say(str(error)), file=sys.stderr)  # noqa: T201
        return 1


def run_django_command(name: str, arguments: list[str]) -> int:
    from django.core.management import execute_from_command_line, get_commands

    if name not in get_commands():
        print(terminal.say(f"There is no command {name!r}; `memoryhub --help` lists them."), file=sys.stderr)  # noqa: T201
        return 2
    from memoryhub.management.base import database

    with contextlib.nullcontext() if name in WITHOUT_DATABASE else database():
        execute_from_command_line(["memoryhub", name, *arguments])
    return 0


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
