"""What a page costs: processor time of web and database, against a bare Django view with one prepared query, in turns.

python -m tests.bench.pages [--seconds 1] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys

from tests.bench.demo import served_demo
from tests.bench.served import BARE, cost_row, costs_in_bares
from tests.bench.table import finish, row

PAGES = {
    "overview": "/s/demo/",
    "a file": "/s/demo/files/memories/AGENTS.md",
    "proposals": "/s/demo/proposals/",
    "quarantine": "/s/demo/quarantine/",
    "working memory": "/s/demo/working/",
    "long-term memory": "/s/demo/longterm/",
    "prompt": "/s/demo/prompt/forge/",
    "agents": "/s/demo/agents/",
    "activity": "/s/demo/activity/",
}
WARM = "the same page before"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    with served_demo() as demo:
        asks = {name: (lambda path=path: demo.page(path), 200) for name, path in PAGES.items()}
        rates = demo.rates(asks, options.seconds, options.rounds)
    rounds = zip(*(costs_in_bares(rates, name) for name in PAGES), strict=True)
    middle = [statistics.median(one) for one in rounds]
    median = row("pages: the median of nine", middle, baseline=BARE, unit="x", at_most=30, warm=WARM)
    return finish([median, *(cost_row(f"page: {name}", name, rates, WARM) for name in PAGES)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
