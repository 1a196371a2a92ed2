"""A command that is forked from a process that imported the hub finds what a new interpreter would."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.running import COMMAND, TREE, clean, command

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# The first decides about an address that only developers have: with DEBUG no test forks.
READ_ON_IMPORT = {"memoryhub/urls.py: DEBUG"}


def test_settings_are_those_of_a_new_interpreter(tmp_path):
    environment = {
        "MEMORYHUB_DATA_DIR": str(tmp_path), "DATABASE_URL": "postgresql://one@two/three", "ALLOWED_HOSTS": "hub.example",
        "MEMORYHUB_REPLICA_URL": "postgresql://one@four/three", "MEMORYHUB_BEHIND_TLS": "true", "MEMORYHUB_NODE": "web-1",
    }  # fmt: skip
    line = ["diffsettings", "--all"]
    new = subprocess.run([*COMMAND, *line], cwd=TREE, env=clean(**environment), capture_output=True, text=True)
    forked = command(*line, **environment)
    assert (forked.returncode, forked.stderr) == (new.returncode, new.stderr) == (0, "")
    (mine, databases), (theirs, expected) = read(forked.stdout), read(new.stdout)
    assert mine == theirs and "ALLOWED_HOSTS = ['hub.example']" in mine
    for name, server in databases.items():  # a new interpreter has used its own by then, which adds what was not set
        assert server.items() <= expected.pop(name).items()
    assert expected == {}


def read(settings: str) -> tuple[list[str], dict[str, dict[str, object]]]:
    """The lines of `diffsettings`, and among them that about databases as what it means."""
    lines = settings.splitlines()
    (databases,) = (line for line in lines if line.startswith("DATABASES = "))
    return [line for line in lines if line != databases], ast.literal_eval(databases.partition(" = ")[2])


def read_on_import(node: ast.AST) -> Iterator[str]:
    """The settings that a module reads while it is imported; migrations name the table of people."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and ast.unparse(child.value) == "settings" and child.attr.isupper():
            yield child.attr
        if not isinstance(child, FUNCTIONS):
            yield from read_on_import(child)


def test_no_module_keeps_a_setting_from_when_it_was_imported():
    files = [file for file in Path(TREE, "memoryhub").rglob("*.py") if "migrations" not in file.parts]
    found = {
        f"{file.relative_to(TREE)}: {name}" for file in files for name in read_on_import(ast.parse(file.read_text()))
    }
    assert found == READ_ON_IMPORT
