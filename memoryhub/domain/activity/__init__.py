"""The append-only record of who did what, and the figures drawn from it."""

from memoryhub.domain.activity.counts import counts_of_space
from memoryhub.domain.activity.log import (
    KINDS,
    Line,
    adding,
    adding_about,
    as_csv,
    as_json_lines,
    latest,
    line,
    lines,
    put,
    record,
    shorten,
    stretch,
)
from memoryhub.domain.activity.metrics import exposition
from memoryhub.domain.activity.overview import (
    Figures,
    figures,
    hub_version,
    leaving_soon,
    midnight,
    pipe,
    waiting_sentence,
)

__all__ = [
    "KINDS",
    "Figures",
    "Line",
    "adding",
    "adding_about",
    "as_csv",
    "as_json_lines",
    "counts_of_space",
    "exposition",
    "figures",
    "hub_version",
    "latest",
    "leaving_soon",
    "line",
    "lines",
    "midnight",
    "pipe",
    "put",
    "record",
    "shorten",
    "stretch",
    "waiting_sentence",
]
