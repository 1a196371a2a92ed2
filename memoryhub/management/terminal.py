"""The language of the terminal, for all commands: those without Django too."""

from __future__ import annotations

import os
import sys
from argparse import SUPPRESS, ArgumentParser, HelpFormatter
from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from memoryhub.text import catalogue, unseen

P = TypeVar("P", bound=ArgumentParser)
ENGLISH, CHINESE = "en", "zh-hans"
VARIABLES = ("MEMORYHUB_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


def language(environ: Mapping[str, str] = os.environ) -> str:
    """What commands speak: the setting, else the language of the terminal where the hub has it, else English."""
    chosen = next((value for name in VARIABLES if (value := environ.get(name, ""))), "")
    return CHINESE if chosen.lower().startswith("zh") else ENGLISH


def say(text: str) -> str:
    """A sentence of the hub in the language of the terminal."""
    return catalogue.load("zh_Hans").translated(text) if language() == CHINESE else text


def one_line(text: str) -> str:
    """A text with names from a disk in it, of which anybody chose the characters: none moves the cursor or begins another line."""
    return unseen.spelled_out(text).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


# What every command of Django takes as well. It works, and stands in no help: few need it.
OF_DJANGO = {"--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color"}


class TranslatedHelp(HelpFormatter):
    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, say("usage:") + " " if prefix is None else prefix)


def with_help(parser: P) -> P:
    """The parser with its description, the help of its arguments and its refusals in the language of the terminal."""
    if parser.description:
        parser.description = say(parser.description)
    for action in parser._actions:  # argparse has no other way to list them
        if OF_DJANGO.intersection(action.option_strings):
            action.help = SUPPRESS
        if action.help and action.help is not SUPPRESS:
            action.help = say(action.help)
    for group in parser._action_groups:
        if group.title:
            group.title = say(group.title)
    parser.formatter_class = type("_Help", (TranslatedHelp, parser.formatter_class), {})

    def refuse(message: str) -> NoReturn:
        parser.print_usage(sys.stderr)
        parser.exit(2, f"{parser.prog}: {say(message)}\n")

    # Called from Python, a command of Django raises instead.
    if getattr(parser, "called_from_command_line", True):
        vars(parser)["error"] = refuse
    return parser
