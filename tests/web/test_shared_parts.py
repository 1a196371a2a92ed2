"""Parts that every page shares: the title's count, the sidebar, badges of agents, menus, notices."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.template import Context, Engine, Template
from django.template.loader import get_template
from django.utils import timezone, translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub.dialects import coding
from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.errors import Conflict, Stale
from memoryhub.models import HUB, Actor
from memoryhub.templatetags.agent_names import CODING_BADGES, agent_badge, initials
from memoryhub.templatetags.contexts import coding_badge
from memoryhub.templatetags.glyphs import g
from memoryhub.templatetags.hub import exactly
from memoryhub.web import errors

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting(house):
    """One proposal of an agent whose key the owner made."""
    forge = prompts.create_agent(house.space, HUB, "forge")
    accounts.create_token(house.space, house.owner, agent=forge)
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="review")
    asked = files.ChangeRequest(path="/memories/a.md", kind="write", content=b"One.\n")
    proposals.submit(house.space, Actor.of_agent(forge), asked)


def title_of(client, path: str) -> str:
    return " ".join(re.search(r"<title>(.*?)</title>", client.get(path).content.decode(), re.DOTALL)[1].split())


def test_the_title_counts_what_one_may_decide(house, as_role, waiting):
    path = f"/s/{house.space.slug}/activity/"
    assert title_of(as_role("reviewer"), path).startswith("(1) ")
    assert title_of(as_role("owner"), path).startswith("(1) ")
    assert not title_of(as_role("viewer"), path).startswith("(")
    assert not title_of(as_role("editor"), path).startswith("(")


def test_the_title_leaves_out_proposals_that_somebody_else_decides(house, as_role, waiting):
    spaces.change_settings(house.space, house.owner, {"who_decides": "others"})
    path = f"/s/{house.space.slug}/activity/"
    assert title_of(as_role("reviewer"), path).startswith("(1) ")
    assert not title_of(as_role("owner"), path).startswith("(")


@pytest.mark.parametrize("path", ["", "activity/", "files/", "agents/", "quarantine/", "contexts/", "contexts/files/"])
def test_the_sidebar_counts_what_waits_and_nothing_else(house, as_role, waiting, tmp_path, path):
    (tmp_path / "AGENTS.md").write_text("# Rules\n")
    files.add_mount(house.space, HUB, "/disk/", store="filesystem", directory=str(tmp_path))
    page = as_role("owner").get(f"/s/{house.space.slug}/{path}", follow=True).content.decode()
    numbers = re.findall(r'<span class="n[^"]*">\s*(\d+)', page.partition("<main")[0])
    assert numbers == ["1"]


@pytest.mark.parametrize("path", ["/account/", "/account/log/", "/shortcuts/", "/account/second-factor/"])
def test_pages_about_oneself_keep_the_space_one_was_in(house, as_role, path):
    viewer = as_role("viewer")
    viewer.get(f"/s/{house.space.slug}/activity/")
    answer = viewer.get(path)
    if answer.status_code == 200:
        assert f'href="/s/{house.space.slug}/quarantine/"' in answer.content.decode()


def test_who_left_a_space_sees_nothing_of_it_there(house, as_role):
    viewer = as_role("viewer")
    viewer.get(f"/s/{house.space.slug}/")
    spaces.remove_member(house.space, house.owner, house.viewer.person)
    assert house.space.slug not in viewer.get("/shortcuts/").content.decode()


@pytest.mark.parametrize(
    ("name", "letters"),
    [
        ("Claude Code", "Cc"),
        ("forge", "Fo"),
        ("客服助手", "客服"),
        ("x", "X"),
        ("ünal bot", "Üb"),
        ("--", "?"),
        ("", "?"),
    ],
)
def test_a_badge_has_initials_in_any_script(name, letters):
    assert initials(name) == letters
    assert f">{letters}</span>" in agent_badge(name)


def test_a_badge_is_the_same_for_a_name_and_says_it_where_it_stands_alone():
    assert agent_badge("forge") == agent_badge("forge")
    assert 'aria-label="&lt;b&gt;"' in agent_badge("<b>", label=True)
    assert "aria-label" not in agent_badge("forge")


def test_a_coding_agent_has_one_badge_on_every_page_and_no_two_are_alike():
    agents = coding.agents()
    assert {name: one.title for name, one in agents.items()} == {name: one[0] for name, one in CODING_BADGES.items()}
    assert len({letters for _title, letters, _tint in CODING_BADGES.values()}) == len(agents)
    for name, one in agents.items():
        drawn = [
            re.findall(r"\ba\d\b|(?<=>)\s*\w\w(?=<)", html) for html in (agent_badge(one.title), coding_badge(name))
        ]
        assert [part.strip() for part in drawn[0]] == [part.strip() for part in drawn[1]]


def test_a_menu_holds_what_stands_between_its_tags():
    drawn = Template('{% menu name %}<li><a href="/a">{{ what }}</a></li>{% endmenu %}')
    text = drawn.render(Context({"what": "<Open>", "name": "Actions for <x>"}))
    assert 'aria-label="Actions for &lt;x&gt;"' in text and '<li><a href="/a">&lt;Open&gt;</a></li>' in text


def test_after_approving_the_notice_leads_to_the_prompt(house, as_role, waiting):
    prompts.add_source(house.space, house.owner, "/memories/a.md")
    one = proposals.get(house.space, 1)
    given = {"seen": proposals.result(one).seen, "do": "approve"}
    page = as_role("reviewer").post(f"/s/{house.space.slug}/proposals/1/approve/", given, follow=True).content.decode()
    assert "See the prompt" in page and f'href="/s/{house.space.slug}/prompt/forge/' in page


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("contexts/", "prompt/"), ("contexts/hooks/", "prompt/"), ("contexts/fixes/", "prompt/"), ("contexts/move/", "prompt/"),
        ("contexts/memory/", "prompt/"), ("prompt/forge/template/", "prompt/"), ("prompt/forge/settings/", "prompt/"),
        ("file/new/", "files/"), ("retrieval/", "longterm/"), ("agents/new/", "agents/"), ("erasure/", "settings/"),
    ],
)  # fmt: skip
def test_the_sidebar_says_where_a_page_belongs(house, as_role, tmp_path, path, entry):
    (tmp_path / "AGENTS.md").write_text("# Rules\n")
    mount = files.add_mount(house.space, HUB, "/disk/", store="filesystem", directory=str(tmp_path))
    prompts.create_agent(house.space, HUB, "forge")
    query = f"?mount={mount.pk}&dir=" if path.startswith("contexts/") else ""
    page = as_role("owner").get(f"/s/{house.space.slug}/{path}{query}").content.decode()
    side = page.partition('id="nav"')[2].partition("</nav>")[0]
    assert re.findall(r'href="/s/books/([^"]*)"\s+aria-current="page"', side) == [entry]


MOMENT = datetime(2026, 3, 1, 7, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("language", "written"),
    [("en", "Sunday 1 March 2026, 16:05:09 JST"), ("zh-hans", "2026年3月1日 星期日 16:05:09 JST")],
)
def test_the_exact_moment_is_written_in_the_reader_s_language_and_zone(language, written):
    with translation.override(language), timezone.override(ZoneInfo("Asia/Tokyo")):
        assert exactly(MOMENT) == written
    with translation.override("en"):
        assert exactly(MOMENT) == "Sunday 1 March 2026, 07:05:09 UTC"


def test_a_glyph_escapes_its_label_unless_it_is_html_already():
    assert 'aria-label="a &amp;amp; b"' in g("x", "a &amp; b")
    assert 'aria-label="a &amp; b"' in g("x", mark_safe("a &amp; b"))
    assert 'aria-label="a &amp;amp; b"' in g("x", "a &amp; b")
    assert "aria-label" not in g("x")


@pytest.mark.parametrize(
    ("template", "drawn"),
    [
        ('{% translate "Prompt" %}', "提示词"),
        ('{% translate "Prompt" as said %}<{{ said }}>', "<提示词>"),
        ('{% translate "100% <b> of %(this)s" %}', "100% <b> of %(this)s"),
        ("{% translate said %}", "&lt;b&gt;"),
        ('{% translate "Prompt"|upper %}', "提示词"),
        ('{% translate _("Prompt") %}', "提示词"),
        ('{% translate "Prompt" noop %}', "Prompt"),
    ],
)
def test_words_of_a_template_are_those_of_the_reader_and_variables_are_escaped(template, drawn):
    with translation.override("zh-hans"):
        said = _("Prompt")
        shown = Template(template).render(Context({"said": "<b>"}))
    assert shown == drawn.replace("提示词", said)


@pytest.mark.parametrize(
    "template",
    [
        "{% blocktranslate %}100% of words{% endblocktranslate %}",
        "{% blocktranslate with name=said|upper n=counted %}Agent {{ name }}: {{ n }}, {{ missing }}{% endblocktranslate %}",
        "{% blocktranslate count n=counted %}{{ n }} file{% plural %}{{ n }} files{% endblocktranslate %}",
        "{% blocktranslate asvar words with x=said trimmed %}\n a {{ x }}\n{% endblocktranslate %}<{{ words }}>",
        "{% blocktranslate context 'x' %}Prompt{% endblocktranslate %}",
    ],
)
def test_sentences_of_templates_say_what_those_of_django_do(template):
    for language in ("en", "zh-hans"):
        with translation.override(language):
            ours, django_s = (
                Template(library + template).render(Context({"said": "<b>", "counted": 1204}))
                for library in ("", "{% load i18n %}")
            )
        assert ours == django_s


def test_a_template_is_read_once_for_each_language():
    shown = []
    for language in ("en", "zh-hans", "en"):
        with translation.override(language):
            shown.append(get_template("_form_errors.html"))
    assert shown[0].template is shown[2].template is not shown[1].template


def test_values_are_escaped_as_django_does_it():
    parts = ("django.template.loaders.locmem.Loader", {"t": "{{ v }}|{% autoescape off %}{{ v }}{% endautoescape %}"})
    ours = Engine(loaders=[("memoryhub.loaders.ByLanguage", [parts])]).get_template("t")
    djangos = Engine(loaders=[parts]).get_template("t")
    for value in ("<b>", mark_safe("<b>"), 1204, 1.5, None, True, _("Prompt"), MOMENT, ["<"], gettext_lazy("Prompt")):
        shown = ours.render(Context({"v": value}))
        assert (shown, type(shown)) == (djangos.render(Context({"v": value})), SafeString)


@pytest.mark.parametrize("refusal", [Conflict("Another was quicker."), Stale("It changed since.")])
def test_a_page_that_came_too_late_says_what_to_do(rf, refusal):
    says = errors.refuse(rf.post("/s/x/"), refusal).content.decode()
    assert "Changed since you looked" in says and "Nothing was saved. Reload the page, then decide again." in says
