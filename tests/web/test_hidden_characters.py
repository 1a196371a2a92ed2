"""What is hidden in a text is drawn, and nothing of it becomes markup."""

from __future__ import annotations

import re

import pytest

from memoryhub.domain import files, longterm, prompts, proposals, quarantine
from memoryhub.domain.notify import daily_mail, webhooks
from memoryhub.models import Actor, Proposal
from memoryhub.templatetags.hidden_characters import MAYBE_UNSEEN, diff_row, drawn, label_hidden_in_page
from memoryhub.templatetags.reviewing import rendered
from memoryhub.text.diff import compare
from memoryhub.text.unseen import UNSEEN_CHARACTER, spelled_out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u200bb", 'a<span class="inv" title="zero-width space">U+200B</span>b'),
        ("a" + "\u200b" * 16, "a" + '<span class="inv" title="zero-width space">U+200B</span>' * 16),
        (
            "a" + "\u200b" * 1_234 + "\u202eb",
            'a<span class="inv many" title="1,235 hidden characters">U+200B ×1,234 U+202E</span>b',
        ),
        ("\u202e", '<span class="inv" title="right-to-left override">U+202E</span>'),
        ("\ufeffx", '<span class="inv" title="byte order mark">U+FEFF</span>x'),
        ("\U000e0041", '<span class="inv" title="tag latin capital letter a">U+E0041</span>'),
        ("one\r\ntwo", 'one<span class="inv" title="carriage return">CR</span>\ntwo'),
        ("one  ", 'one<span class="blank" title="trailing blanks">  </span>'),
        ("a\tb", "a\tb"),
        ("<b>&", "&lt;b&gt;&amp;"),
        ("👩\u200d💻 ❤\ufe0f ok", "👩\u200d💻 ❤\ufe0f ok"),
        ("x\ufe0fy", 'x<span class="inv" title="variation selector-16">U+FE0F</span>y'),
    ],
)
def test_what_is_hidden_is_drawn(text, expected):
    assert drawn(text) == expected


def test_what_is_hidden_between_all_letters_is_told_without_a_label_for_each():
    text = "y\u200b" * 300_000 + "<b>\u202e👩\u200d💻"
    for html in (drawn(text), label_hidden_in_page(text.replace("<b>", "&lt;b&gt;"))):
        assert len(html) < len(text)
        assert html.count('<span class="inv"') == 500
        rest = '<span class="inv many">299,501 hidden characters in what follows: U+200B ×299,500 U+202E ×1</span>y'
        assert rest in html
        assert html.endswith("y&lt;b&gt;👩\u200d💻")
        assert html.replace("many", "").count("y") == 300_000


# Default_Ignorable_Code_Point of Unicode 16, without what is there for emoji alone.
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


def test_every_character_that_fonts_leave_out_is_drawn_between_letters_of_any_script():
    ignorable = [chr(code) for first, last in IGNORABLE for code in range(first, last + 1)]
    for letter in "aя中か":
        undrawn = [f"U+{ord(one):04X}" for one in ignorable if 'class="inv' not in drawn(f"{letter}{one}{letter}")]
        assert undrawn == [], letter
    assert "inv" not in drawn("❤\ufe0f ©\ufe0f 👩\u200d💻 ㊗\ufe0f")


def test_marks_that_strike_letters_out_or_pile_up_are_drawn():
    assert drawn("n\u0336o\u0336").count('class="inv"') == 2
    assert "U+0301 ×36" in drawn("e" + "\u0301" * 40) and "U+0301 ×36" in label_hidden_in_page("e" + "\u0301" * 40)
    assert "inv" not in drawn("Vie\u0323\u0302t 1\ufe0f\u20e3".replace("\ufe0f", ""))


def test_the_quick_look_at_a_page_misses_no_character_that_is_drawn():
    characters = map(chr, (*range(0x10000), *range(0x1D100, 0x1D200), *range(0xE0000, 0xE0200)))
    assert [one for one in characters if BARE.match(one) and not MAYBE_UNSEEN.match(one)] == []
    assert not MAYBE_UNSEEN.search("one\r\n\ttwo · 三")


def test_blanks_before_a_carriage_return_are_trailing_too():
    assert drawn("a \r\nb").startswith('a<span class="blank" title="trailing blanks"> </span><span class="inv"')


def test_a_diff_has_words_for_those_who_do_not_see_colour():
    rows = compare("say <two> words here\n", "say <three>\u200b words here\n").rows
    html = "".join(map(diff_row, rows))
    assert '<span class="sr">removed </span>say &lt;<del>two&gt;</del>' in html
    assert "U+200B" in html
    assert "<two>" not in html


def test_what_a_rendered_text_hides_by_its_number_or_name_is_drawn():
    page = rendered("Tills&#8203; close &#x202E;at&zwnj; nine &amp; `&#8203;`, &eacute;.")
    assert [one.split("<")[0] for one in page.split('class="inv"')[1:]] == [
        ' title="zero-width space">U+200B',
        ' title="right-to-left override">U+202E',
        ' title="zero-width non-joiner">U+200C',
    ]
    assert "nine &amp; <code>&amp;#8203;</code>, &eacute;." in page


def test_what_is_read_out_is_spelled_and_what_is_sent_back_is_not():
    page = '<a href="/x\u202ey" aria-label="Open “a\u202eb”" title=\'c\u200b\'>d</a><textarea aria-label="e\u200bf">g\u200bh</textarea>'
    assert label_hidden_in_page(page) == (
        '<a href="/x\u202ey" aria-label="Open “a&lt;U+202E&gt;b”" title=\'c&lt;U+200B&gt;\'>d</a>'
        '<textarea aria-label="e&lt;U+200B&gt;f">g\u200bh</textarea>'
    )


# ---- every page

HIDDEN = "close \u202eat nine\u202c \U000e0049\U000e0067 now\u200b"
BARE = re.compile(f"(?!\r)(?:{UNSEEN_CHARACTER.pattern})")
FIELDS = re.compile(r"<textarea\b.*?</textarea>|<[^>]*>", re.DOTALL)


@pytest.fixture
def full(house):
    """A space in which every text that anybody may send holds hidden characters. Answers the pages that show them."""
    space, owner = house.space, house.owner
    files.add_mount(space, owner, "/memories/", store="database", policy="review")
    files.write(
        space, owner, "/memories/AGENTS.md", f"# Tills {HIDDEN}\n\n- Till &#8203;three\n".encode(), reason=f"r {HIDDEN}"
    )
    agent = prompts.create_agent(space, owner, "forge")
    prompts.add_source(space, owner, "/memories/AGENTS.md")
    asked = files.ChangeRequest(
        "write", "/memories/AGENTS.md", content=f"# Tills\n{HIDDEN} too\n".encode(), reason=f"why {HIDDEN}"
    )
    proposal = proposals.submit(space, Actor.of_agent(agent), asked).proposal
    record = quarantine.log(space, agent, content=f"Till 3 {HIDDEN} is broken since Monday.", session_id=f"s{HIDDEN}",
                            node_id=f"n{HIDDEN}", node_kind="agent").record  # fmt: skip
    entry = longterm.store(space, owner, f"Till 3 {HIDDEN} is broken since Monday.", reason=f"w {HIDDEN}")
    base = f"/s/{space.slug}/"
    return [base + path for path in (
        "", "files/", "files/memories/AGENTS.md", "files/memories/AGENTS.md?view=source", "files/memories/AGENTS.md?view=history",
        "files/memories/AGENTS.md?view=blame", "files/memories/AGENTS.md?view=diff", "files/memories/AGENTS.md?view=edit",
        "proposals/", f"proposals/{proposal.number}/", f"proposals/{proposal.number}/?view=split",
        f"proposals/{proposal.number}/?view=rendered", "quarantine/", f"quarantine/{record.pk}/", "working/", "longterm/",
        f"longterm/{entry.number}/", "prompt/forge/", "agents/", "activity/", "search/?q=till",
    )]  # fmt: skip


def test_no_page_shows_a_text_with_a_character_that_nobody_sees(as_role, full):
    client, shown = as_role("owner"), 0
    for address in full:
        response = client.get(address, follow=True)
        assert response.status_code == 200, address
        page = response.content.decode()
        assert not BARE.search(FIELDS.sub("", page)), address
        shown += 'class="inv"' in page
    assert shown >= 15


def test_a_field_sends_back_the_characters_that_it_was_given(as_role, full):
    page = as_role("owner").get(full[7]).content.decode()
    assert HIDDEN in page[page.index("<textarea") : page.index("</textarea>")]


@pytest.mark.parametrize("view", ["rendered", "source", "blame", "diff"])
def test_every_view_of_a_file_says_what_was_found_in_it(as_role, full, view):
    page = as_role("owner").get(f"{full[2]}?view={view}").content.decode()
    assert "Hidden characters" in page
    assert 'href="/s/books/files/memories/AGENTS.md?view=source#L1"' in page


def test_an_entry_and_a_hit_say_what_was_found_in_them(as_role, full):
    client = as_role("owner")
    assert "Hidden characters" in client.get(full[16]).content.decode()
    assert "hidden characters" in client.get("/s/books/search/?q=till").content.decode()


def test_a_text_without_findings_has_no_banner(as_role, house):
    files.add_mount(house.space, house.owner, "/memories/", store="database", policy="review")
    files.write(house.space, house.owner, "/memories/a.md", b"Tills close at nine.\n")
    assert "findings" not in as_role("owner").get("/s/books/files/memories/a.md").content.decode()


@pytest.mark.parametrize(
    "text",
    [
        "<textarea>\u202e</textarea>",
        '<input value="\u202e">',
        "<script>\u202e</script>",
        "plain",
        "a\r\nb",
        "👩\u200d💻",
    ],
)
def test_what_a_page_must_keep_stays(text):
    assert label_hidden_in_page(text) == text


def test_a_title_spells_the_characters_out():
    assert (
        label_hidden_in_page("<title>a\u202eb</title><option>\u200b</option>")
        == "<title>a&lt;U+202E&gt;b</title><option>&lt;U+200B&gt;</option>"
    )


def test_mails_and_chats_spell_the_characters_out(house):
    proposal = Proposal(
        number=7, kind="write", agent_name="forge", reason=f"Tills {HIDDEN}", path="/memories/a.md", space=house.space
    )
    mail = daily_mail.mail_subject(house.space, [proposal]) + daily_mail.mail_text(house.space, [proposal])
    chat = str(webhooks._slack_blocks(f"forge asks {HIDDEN}", {"reason": HIDDEN}))
    assert "<U+202E>" in mail and "&lt;U+202E&gt;" in chat
    assert not BARE.search(mail) and not BARE.search(chat)


@pytest.mark.parametrize(("text", "expected"), [
    ("plain\ttext\n", "plain\ttext\n"),
    ("a\u200bb", "a<U+200B>b"), ("\x1b[31m", "<U+001B>[31m"), ("👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"),
    ("x\ufe0f", "x<U+FE0F>"), ("\U000e0041", "<U+E0041>"), ("a\r\nb", "a<U+000D>\nb"), ("café 中文", "café 中文"),
])  # fmt: skip
def test_plain_text_names_what_nobody_sees(text, expected):
    assert spelled_out(text) == expected
