"""The append-only record of who did what, and the figures of the overview and the metrics."""

from memoryhub.domain.activity.counts import (
    Counts,
    Daily,
    counts_of_space,
    counts_of_waiting,
    daily,
    has_flow,
    waiting_by_space,
)
from memoryhub.domain.activity.log import (
    KINDS,
    Line,
    account_lines,
    as_csv,
    as_json_lines,
    each_line,
    find_lines,
    first_at,
    latest,
    line_about_as_change,
    lines_as_change,
    make_line,
    page_of_lines,
    record,
    record_line,
    shorten,
    without_formula,
)
from memoryhub.domain.activity.metrics import gauge, prometheus_text
from memoryhub.domain.activity.overview import (
    Figures,
    expiring_entries,
    figures,
    midnight,
    page_version,
    pipe_width,
    sentence_of,
    waiting_items,
)
from memoryhub.domain.activity.refused import note_refusal
