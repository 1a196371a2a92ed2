"""Every key in one place."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memoryhub.web.access import signed_in

KEYS = [
    (
        "Everywhere",
        [("?", "this list"), ("/ or Ctrl K", "search or go to"), ("u", "undo what was just done"), ("Esc", "close what is open")],
    ),
    (
        "Go to",
        [
            ("g o", "overview"), ("g p", "proposals"), ("g f", "files"), ("g q", "quarantine"), ("g w", "working memory"),
            ("g l", "long-term memory"), ("g m", "prompts"), ("g a", "agents"), ("g y", "activity"), ("g s", "settings"),
        ],
    ),
    ("In a list", [("j", "next row"), ("k", "previous row"), ("Enter", "open the row"), ("x", "tick the row")]),
    (
        "On a proposal",
        [
            ("a", "approve"), ("e", "approve with my edits"), ("r", "reject: choose a reason, then Enter"), ("c", "comment"),
            ("j k", "next and previous"),
        ],
    ),
    (
        "In quarantine",
        [
            ("j k", "next and previous record"), ("a", "admit"), ("p", "promote"), ("d", "discard: choose a reason, then Enter"),
            ("u", "undo"), ("x", "select the record"),
        ],
    ),
    ("In files", [("t", "go to a file by letters of its path"), ("n", "new file"), ("e", "edit the file")]),
    (
        "In the editor",
        [
            ("Ctrl S", "save"), ("Ctrl F", "find"), ("Ctrl H", "replace"), ("F8", "next finding"), ("Tab", "indent"),
            ("Esc then Tab", "leave the text"),
        ],
    ),
]  # fmt: skip


@signed_in
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "shortcuts/page.html", {"groups": KEYS})
