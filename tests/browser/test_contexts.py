"""What coding agents see, by mouse: a directory and an agent are picked, the matrix leads to a context, and the phone shows it all."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from memoryhub.dialects.coding.claude_memory import project_slug
from memoryhub.domain import contexts, files
from memoryhub.models import HUB
from tests.browser import axe
from tests.browser.test_disk import picture

ROWS = "".join(f"- [Note {n}](note{n}.md) — what was found in week {n}\n" for n in range(214))


def write(root, made):
    for name, text in made.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def shop(space, tmp_path):
    home = (tmp_path / "mia").resolve()
    root = home / "shop"
    write(home, {
        ".claude/CLAUDE.md": "- Answer in English, short.\n- Use `uv`, never `pip`.\n", "shop/.git/HEAD": "ref: refs/heads/main\n",
        "shop/AGENTS.md": "# Shop\n\n- Amounts are integers in cents.\n- Prices come from `<Price>`.\n",
        "shop/CLAUDE.md": "# Shop\n@AGENTS.md\n- Branch names start with the ticket number.\n",
        "shop/.claude/rules/money.md": "- Round half to even, once, at the order line.\n",
        "shop/.claude/rules/views.md": "---\npaths: web/**/*.tsx\n---\n- No raw buttons.\n",
        "shop/web/CLAUDE.md": "# Storefront\n- Components live in `web/parts/`, see @docs/parts.md\n",
        "shop/web/docs/parts.md": "# Components\n- `<Basket>` owns basket_\u200bid.\n", "shop/web/AGENTS.md": "- Web rules.\n" * 3_000,
        "shop/web/checkout/CLAUDE.md": "- Never log a card.\n", "shop/GEMINI.md": "- See the shop.\n",
        f".claude/projects/{project_slug(str(root))}/memory/MEMORY.md": ROWS,
    })  # fmt: skip
    files.add_mount(space, HUB, "/shop/", store="filesystem", directory=str(root))
    files.add_mount(space, HUB, "/claude/", store="filesystem", directory=str(home / ".claude"))
    contexts.set_home(space, HUB, str(home))
    return root


def test_a_context_is_picked_and_read(shop, sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/contexts/")
    page.get_by_label("Mount").select_option(label="/shop/")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("Directory").select_option("web")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="What Claude Code sees in ~/shop/web")).to_be_visible()
    expect(page.get_by_text("Import it in ~/shop/web/CLAUDE.md").first).to_be_visible()
    expect(page.get_by_text("Cut here", exact=False).first).to_be_visible()
    expect(page.get_by_text("14 lines", exact=False).first).to_be_visible()
    picture(page, "context")
    page.get_by_text("more lines that are not loaded").click()
    expect(page.get_by_text("what was found in week 213")).to_be_visible()
    page.get_by_label("When it reads").fill("checkout/Form.tsx")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Never log a card.")).to_be_visible()


def test_the_matrix_leads_to_the_context_at_the_file(shop, sign_in_as):
    page = sign_in_as("viewer", at="/s/ledger/contexts/files/")
    page.get_by_label("Mount").select_option(label="/shop/")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("Directory").select_option("web")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name="Codex: cut, at line")).to_be_visible()
    picture(page, "matrix")
    page.locator("summary", has_text="Agents 7 of").click()
    page.get_by_label("Zed").check()
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("columnheader", name="Zed")).to_be_visible()
    page.get_by_role("link", name="Codex: cut, at line").click()
    expect(page.get_by_role("heading", name="What Codex sees in /shop/web")).to_be_visible()
    expect(page.get_by_role("heading", name="Exact text")).to_be_visible()


def test_the_checks_are_read(shop, sign_in_as):
    page = sign_in_as("viewer", at="/s/ledger/contexts/checks/")
    page.get_by_label("Mount").select_option(label="/shop/")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("heading", name="Hidden characters")).to_be_visible()
    expect(page.get_by_role("heading", name="Tokens at the start, by agent")).to_be_visible()
    picture(page, "checks")


def test_a_fix_is_looked_at_and_made(shop, sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/contexts/")
    page.get_by_label("Mount").select_option(label="/shop/")
    page.get_by_role("button", name="Show").click()
    page.get_by_label("Directory").select_option("web")
    page.get_by_role("button", name="Show").click()
    row = page.get_by_role("listitem").filter(has_text="Import it in").last
    row.get_by_role("link", name="Show change").click()
    expect(page.get_by_role("heading", name="What it does to each coding agent")).to_be_visible()
    picture(page, "fix")
    page.get_by_role("button", name="Write change").click()
    expect(page.get_by_text("/shop/web/CLAUDE.md is changed.")).to_be_visible()
    assert (shop / "web" / "CLAUDE.md").read_text().endswith("@AGENTS.md\n")


def test_an_entry_of_own_memory_is_edited(shop, space, sign_in_as):
    for mount in files.mounts_of_space(space):
        files.take_in_mount(space, mount)
    page = sign_in_as("editor", at="/s/ledger/contexts/memory/")
    picture(page, "memories")
    page.get_by_role("link", name="MEMORY.md").first.click()
    expect(page.get_by_text("214 of 200 lines")).to_be_visible()
    picture(page, "entries")
    row = page.locator("#e3")
    row.locator("summary", has_text="Edit").click()
    row.get_by_role("textbox").fill("[Note 2](note2.md) — what the agent got wrong")
    row.get_by_role("button", name="Save entry").click()
    expect(page.locator("#e3 pre").get_by_text("what the agent got wrong")).to_be_visible()
    index = next((shop.parent / ".claude" / "projects").glob("*/memory/MEMORY.md"))
    assert index.read_text().split("\n")[2] == "- [Note 2](note2.md) — what the agent got wrong"


def test_an_entry_moves_into_a_file_that_all_agents_read_and_back(shop, space, sign_in_as):
    for mount in files.mounts_of_space(space):
        files.take_in_mount(space, mount)
    page = sign_in_as("owner", at="/s/ledger/contexts/memory/")
    page.get_by_role("link", name="MEMORY.md").first.click()
    page.locator("#e3").get_by_role("link", name="Move").click()
    expect(page.get_by_role("heading", name="Move entry 3 of Claude Code")).to_be_visible()
    page.get_by_label("Text").fill("- Week 2: look at the cache first.")
    page.get_by_role("button", name="Show change").click()
    expect(page.get_by_role("heading", name="What it does to each coding agent")).to_be_visible()
    picture(page, "move")
    page.get_by_role("button", name="Write 2 files").click()
    expect(page.get_by_text("2 files are written.")).to_be_visible()
    assert (shop / "AGENTS.md").read_text().endswith("- Week 2: look at the cache first.\n")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 files are as they were.")).to_be_visible()
    assert "Week 2" not in (shop / "AGENTS.md").read_text()


def test_what_another_agent_would_lose_is_read(shop, sign_in_as):
    page = sign_in_as("owner", at="/s/ledger/contexts/files/")
    page.get_by_label("Mount").select_option(label="/shop/")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("heading", name="What Codex would lose")).to_be_visible()
    picture(page, "compared")
    page.get_by_role("link", name="Write it into ~/shop/AGENTS.md").first.click()
    page.get_by_role("button", name="Propose").click()
    expect(page.get_by_text("Proposal 1 waits for a decision.")).to_be_visible()
    picture(page, "proposed")


ADDRESSES = (
    "contexts/?dir=web&mount={shop}", "contexts/?dir=web&mount={shop}&agent=codex", "contexts/files/?dir=web&mount={shop}",
    "contexts/checks/?mount={shop}", "contexts/memory/", "contexts/hooks/", "contexts/memory/?path={memory}",
    "contexts/move/?path={memory}&number=3", "contexts/move/?mount={shop}", "contexts/compare/?mount={shop}&agent=claude-code&with=codex",
    "contexts/?mount={shop}&text=only",
    "contexts/fix/?dir=web&mount={shop}&agent=claude-code&about=/shop/web/AGENTS.md&code=import",
)  # fmt: skip


# Cut as well, by their size: axe takes as long for each row as for the next.
LONG_ROWS = "".join(f"- [Note {n}](note{n}.md) — {'what was found ' * 200}\n" for n in range(14))
LONG_RULES = f"- Web rules. {'Look twice. ' * 100}\n" * 35


@axe.in_turns
def test_the_pages_have_no_fault_that_a_machine_can_find(shop, space, sign_in_as, new_page, turns):
    write(shop, {"web/AGENTS.md": LONG_RULES})
    write(shop.parent, {f".claude/projects/{project_slug(str(shop))}/memory/MEMORY.md": LONG_ROWS})
    for mount in files.mounts_of_space(space):
        files.take_in_mount(space, mount)
    memory = f"/claude/projects/{project_slug(str(shop))}/memory/MEMORY.md"
    mount = next(one.pk for one in files.mounts_of_space(space) if one.prefix == "/shop/")
    page = sign_in_as("owner", new_page(own=True), at=f"/s/ledger/contexts/?dir=web&mount={mount}")
    expect(page.get_by_text("Cut here").first).to_be_visible()
    pages = (f"/s/ledger/{address.format(shop=mount, memory=memory)}" for address in ADDRESSES)
    assert axe.faults_of(page, pages, turns) == []
