"""The hub's metrics in Prometheus' text format. They come from the database, so every worker gives the same answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from django.db import connection
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily

GAUGES = {
    "memoryhub_proposals": (
        "Proposals by state",
        "SELECT s.slug, p.state, count(*) FROM memoryhub_proposal p JOIN memoryhub_space s ON s.id = p.space_id GROUP BY 1, 2",
        ["space", "state"],
    ),
    "memoryhub_oldest_pending_seconds": (
        "Age of the oldest pending proposal",
        "SELECT s.slug, extract(epoch FROM now() - min(p.created_at)) FROM memoryhub_proposal p "
        "JOIN memoryhub_space s ON s.id = p.space_id WHERE p.state = 'pending' GROUP BY 1",
        ["space"],
    ),
    "memoryhub_files": (
        "Files",
        "SELECT s.slug, count(*) FROM memoryhub_file f JOIN memoryhub_space s ON s.id = f.space_id "
        "WHERE NOT f.is_deleted GROUP BY 1",
        ["space"],
    ),
    "memoryhub_files_unwritten": (
        "Files whose newest revision is not on disk yet",
        "SELECT s.slug, count(*) FROM memoryhub_file f JOIN memoryhub_space s ON s.id = f.space_id "
        "WHERE f.written_revision < f.revision GROUP BY 1",
        ["space"],
    ),
    "memoryhub_working_entries": (
        "Working entries",
        "SELECT s.slug, count(*) FROM memoryhub_workingentry w JOIN memoryhub_space s ON s.id = w.space_id "
        "WHERE w.expires_at > now() OR w.is_pinned GROUP BY 1",
        ["space"],
    ),
    "memoryhub_longterm_entries": (
        "Long-term entries by state",
        "SELECT s.slug, e.state, count(*) FROM memoryhub_longtermentry e JOIN memoryhub_space s ON s.id = e.space_id GROUP BY 1, 2",
        ["space", "state"],
    ),
    "memoryhub_prompts_delivered": (
        "Prompts delivered",
        "SELECT s.slug, coalesce(sum(d.count), 0) FROM memoryhub_delivery d JOIN memoryhub_space s ON s.id = d.space_id GROUP BY 1",
        ["space"],
    ),
    "memoryhub_jobs": (
        "Jobs by state",
        "SELECT kind, state, count(*) FROM memoryhub_job GROUP BY 1, 2",
        ["kind", "state"],
    ),
}


# Gauges by space that packages above measure; called with the slug of the one space to show, or an empty string.
Measure = Callable[[str], Iterable[tuple[str, float]]]
measured: dict[str, tuple[str, Measure]] = {}


def gauge(name: str, help_text: str) -> Callable[[Measure], Measure]:
    """Registers a function that measures every space: a decorator."""

    def register(measure: Measure) -> Measure:
        measured[name] = (help_text, measure)
        return measure

    return register


class DatabaseCollector:
    """Collects GAUGES by SQL, then what is measured; `only` is the slug of the one space to show."""

    def __init__(self, only: str = "") -> None:
        self.only = only

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with connection.cursor() as cursor:
            for name, (help_text, sql, labels) in GAUGES.items():
                family = GaugeMetricFamily(name, help_text, labels=labels)
                cursor.execute(sql)
                for *label_values, figure in cursor.fetchall():
                    if self.only and labels[0] == "space" and label_values[0] != self.only:
                        continue
                    family.add_metric([str(value) for value in label_values], float(figure))
                yield family
        for name, (help_text, measure) in measured.items():
            family = GaugeMetricFamily(name, help_text, labels=["space"])
            for slug, figure in measure(self.only):
                family.add_metric([slug], float(figure))
            yield family


def prometheus_text(only: str = "") -> bytes:
    """The text that Prometheus fetches; with `only`, that of one space."""
    registry = CollectorRegistry()
    registry.register(DatabaseCollector(only))
    return generate_latest(registry)
