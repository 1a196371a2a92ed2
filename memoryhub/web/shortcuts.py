"""Every key in one place."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from memoryhub.web.access import signed_in

KEYS = [
    (
        _("Everywhere"),
        [
            ("?", _("this list")),
            (_("/ or Ctrl K"), _("search or go to")),
            ("u", _("undo what was just done")),
            ("Esc", _("close what is open")),
        ],
    ),
    (
        _("Go to"),
        [
            ("g o", _("overview")),
            ("g p", _("proposals")),
            ("g f", _("files")),
            ("g q", _("quarantine")),
            ("g w", _("working memory")),
            ("g l", _("long-term memory")),
            ("g m", _("prompts")),
            ("g a", _("agents")),
            ("g y", _("activity")),
            ("g s", _("settings")),
        ],
    ),
    (
        _("In a list"),
        [("j", _("next row")), ("k", _("previous row")), ("Enter", _("open the row")), ("x", _("tick the row"))],
    ),
    (
        _("On a proposal"),
        [
            ("a", _("approve")),
            ("e", _("approve with my edits")),
            ("r", _("reject: choose a reason, then Enter")),
            ("c", _("comment")),
            ("j k", _("next and previous")),
        ],
    ),
    (
        _("In quarantine"),
        [
            ("j k", _("next and previous record")),
            ("a", _("admit")),
            ("p", _("promote")),
            ("d", _("discard: choose a reason, then Enter")),
            ("u", _("undo")),
            ("x", _("select the record")),
        ],
    ),
    (_("In files"), [("t", _("go to a file by letters of its path")), ("n", _("new file")), ("e", _("edit the file"))]),
    (
        _("In the editor"),
        [
            ("Ctrl S", _("save")),
            ("Ctrl F", _("find")),
            ("Ctrl H", _("replace")),
            ("F8", _("next finding")),
            ("Tab", _("indent")),
            (_("Esc then Tab"), _("leave the text")),
        ],
    ),
]


@signed_in
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "shortcuts/page.html", {"groups": KEYS})
