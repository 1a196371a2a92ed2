"""Takes the pictures of the guide on coding agents, of a made-up home, light and dark:

    python -m tests.browser.context_screens OUTDIR [--home /home/mia]

The home is made where it does not exist yet, and removed afterwards.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from memoryhub.dialects.coding.claude_memory import project_slug
from tests import chromium
from tests.browser import hub as hubs
from tests.conformance.coding_agents import trees

INDEX = "".join(f"- [Note {n}](note{n}.md) — what was found in week {n}\n" for n in range(3, 214))


def files_of(home: Path) -> dict[str, str]:
    return {
        ".claude/CLAUDE.md": "- Answer in English, short. Show the diff before a long explanation.\n- Use `uv`, never `pip`.\n",
        ".codex/AGENTS.md": "- Be short.\n", ".gemini/GEMINI.md": "- Ask before adding a dependency.\n",
        f".claude/projects/{project_slug(str(home / 'shop'))}/memory/MEMORY.md":
            "- [Fast tests](testing.md) — run `make test-fast` before a push\n"
            "- [Payment gateway](gateway.md) — sandbox is slow before 9:00, retry once\n"
            "- [Deploy freeze](freeze.md) — no deploys on Fridays after 15:00\n" + INDEX,
        "shop/AGENTS.md": "# Shop\n\n- Amounts are integers in cents, never floats.\n- Prices come from `<Price>`.\n",
        "shop/CLAUDE.md": "# Shop\n@AGENTS.md\n- Branch names start with the ticket number.\n",
        "shop/GEMINI.md": "@./AGENTS.md\n", "shop/.claude/rules/money.md": "- Round half to even, once, at the order line.\n",
        "shop/.claude/rules/views.md": "---\npaths: web/**/*.tsx\n---\n- No raw buttons.\n",
        "shop/web/CLAUDE.md": "# Storefront\n- Components live in `web/parts/`, see @docs/parts.md\n",
        "shop/web/docs/parts.md": "# Components\n- `<Price>` takes cents and a currency code.\n",
        "shop/web/checkout/CLAUDE.md": "- Never log a card.\n",
    }  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.browser.context_screens", description=__doc__.splitlines()[0]
    )
    parser.add_argument("out", type=Path, metavar="OUTDIR")
    parser.add_argument("--home", type=Path, default=Path("/home/mia"))
    options = parser.parse_args(arguments)
    if options.home.exists():
        parser.error(f"{options.home} exists")
    options.out.mkdir(parents=True, exist_ok=True)
    made = {f"{options.home.name}/{name}": text for name, text in files_of(options.home).items()}
    start = f"{options.home.name}/shop"
    trees.build(trees.Case("pictures", made, start, {}, start), options.home.parent)
    try:
        with hubs.running() as hub:
            take(hub, options.home, options.out)
    finally:
        shutil.rmtree(options.home)
    return 0


def take(hub: hubs.Hub, home: Path, out: Path) -> None:
    # Only now is Django set up.
    from memoryhub.domain import coding_agents, contexts, files, spaces
    from memoryhub.models import HUB, Mount, Role, Space

    project = str(home / "shop")
    space = contexts.show_laptop(HUB, str(home), coding_agents.find_agents(str(home), [project]), [project]).space
    Space.objects.filter(pk=space.pk).update(name="Laptop")  # not the name of the machine that takes the pictures
    for mount in Mount.objects.within(space):
        files.take_in_mount(space, mount)
    spaces.add_member(space, HUB, hubs.person_with(hub.space, "owner"), Role.OWNER)
    shop = Mount.objects.within(space).get(prefix="/shop/").pk
    memory = contexts.own_memories(space)[0].path
    pages = {
        "context": ("contexts/", {"mount": shop, "dir": "web"}, 1340),
        "matrix": ("contexts/files/", {"mount": shop, "dir": "web"}, 1000),
        "move": ("contexts/move/", {"path": memory, "number": 3}, 1000),
        "compared": ("contexts/compare/", {"mount": shop, "agent": "claude-code", "with": "codex"}, 900),
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.path(), args=chromium.ARGUMENTS)
        for scheme in ("light", "dark"):
            window = browser.new_context(color_scheme=scheme, reduced_motion="reduce").new_page()  # type: ignore[arg-type]
            window.goto(hub.sign_in_link("owner"))
            window.locator("main form button").click()
            for name, (page, query, height) in pages.items():
                window.set_viewport_size({"width": 1280, "height": height})
                window.goto(f"{hub.url}/s/{space.slug}/{page}?{urlencode(query)}", wait_until="networkidle")
                window.screenshot(path=str(out / f"{name}-wide-{scheme}.png"))
        browser.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
