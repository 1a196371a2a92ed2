"""The language of the terminal, for all commands: those without Django too."""

from __future__ import annotations

import os
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping
from typing import TypeVar

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


def with_help(parser: P, translate: Callable[[str], str] = say) -> P:
    """The parser with its description and the help of its arguments in the language of the terminal."""
    if parser.description:
        parser.description = translate(parser.description)
    for action in parser._actions:  # argparse has no other way to list them
        if action.help and action.help is not SUPPRESS:
            action.help = translate(action.help)
    return parser
