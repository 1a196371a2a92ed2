"""Words for people: none stands bare in a template or in Python, and both catalogues have all of them."""

from __future__ import annotations

import re

import pytest

from memoryhub.languages import speaking, translated
from tests.messages import bare, catalogue, in_python, in_templates

# Files and folders whose words are not marked yet. It only gets shorter.
PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]|%%")


def test_no_words_stand_bare():
    found = bare.everywhere()
    assert not found, "\n".join(f"{file}:{line}: {words}" for file, lines in found.items() for line, words in lines)


def test_both_catalogues_have_the_same_messages():
    english, chinese = ({one.id for one in catalogue.read(locale)} for locale in catalogue.LOCALES)
    assert english == chinese


def test_the_compiled_catalogue_is_that_of_the_text():
    assert catalogue.mo("zh_Hans").read_bytes() == catalogue.compiled("zh_Hans"), "run `make messages`"


def test_translations_have_the_values_of_what_they_translate():
    for one in catalogue.read("zh_Hans"):
        for text in [one.string] if isinstance(one.string, str) else one.string:
            if one.id and text:
                sources = [one.id] if isinstance(one.id, str) else one.id
                # A plural sentence may leave out the number that Chinese says once, never add a value.
                assert set(PLACEHOLDER.findall(text)) in [set(PLACEHOLDER.findall(source)) for source in sources], (
                    one.id
                )
                assert "fuzzy" not in one.flags


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<p>Nothing waits.</p>", ["Nothing waits."]),
        ('<a title="Open it" href="/s/x/">{{ name }}</a>', ["Open it"]),
        ('<input placeholder="Search files">', ["Search files"]),
        ('<input type="submit" value="Save">', ["Save"]),
        ('<p data-say-gone="It is gone">…</p>', ["It is gone"]),
        ('{% g "search" "Look for it" %}', ["Look for it"]),
        ('{% include "_x.html" with says="Sign in now" %}', ["Sign in now"]),
        ("<p>{{ n }}, {{ m }}</p>", ["…, …"]),
        ("<p><b>{{ n }}</b>, {{ m }}</p>", [", …"]),
        ('<p>{{ n }}{% translate "," %} {{ m }}</p>', []),
        ("<p>{{ n }}{{ n|pluralize }}</p>", ["|pluralize"]),
        ('{{ name|default:"nobody" }}', ['|default:"nobody"']),
        ('<p>{% translate "Nothing waits." %} <code>pip install</code> 3 kB</p>', []),
        ("<p>{% blocktranslate trimmed %}Nothing waits.{% endblocktranslate %}</p>", []),
        ('<a class="btn small-act" title="{% translate "Open it" %}">{{ name|date:_("j M") }}</a>', []),
    ],
)
def test_bare_words_of_a_template_are_found(html, words):
    assert [text for _, text in bare.in_template(html)] == words


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('done(request, "It is saved now.")', ["It is saved now."]),
        ('LABEL = "Remove"', ["Remove"]),
        ('from django.utils.translation import gettext as _\ndone(request, _("It is saved now."))', []),
        ('raise NotFound("There is no such file.")', []),  # in the catalogue as it is
        ('"""It is about this."""\nlog.warning("the disk was away")', []),
    ],
)
def test_bare_words_of_python_are_found(source, words):
    assert [text for _, text in bare.in_module(source)] == words


def test_sentences_of_two_halves_are_found():
    with speaking("zh-hans"):
        for said in (
            "a link to ../a.md; links are not followed",
            "“/m/a.md” is or leads through a link; the hub does not follow links.",
            "web/CLAUDE.md exists, so AGENTS.md is not read",
            "took the template of deepagents 0.7.32 from the client of runner",
        ):
            assert translated(said) != said


def test_lists_of_words_are_translated():
    with speaking("zh-hans"):
        assert translated("changed the base prompt, the persona") == "更改了基础提示词、人设"
        assert translated("changed the base prompt, my own") == "更改了the base prompt, my own"


def test_messages_of_a_template():
    source = (
        '{% translate "All 100%" %}{% plural n "file" %}{{ x|date:_("j M") }}'
        "{% blocktranslate trimmed count n=n %}\n {{ n }} entry\n {% plural %}{{ n }} entries{% endblocktranslate %}"
    )
    assert list(in_templates.messages_of(source)) == [
        ("All 100%%", ""), ("%(count)s file", "%(count)s files"), ("j M", ""), ("%(n)s entry", "%(n)s entries"),
    ]  # fmt: skip


def test_messages_of_python():
    source = """
from django.utils.translation import gettext as _, ngettext
OTHER = "a folder"
_("Saved."), ngettext("%(n)s file", "%(n)s files", n)
raise Invalid(f"{name!r} is {OTHER if x else 'a link'} of {space.name}, {100 - n} % left.")
"""
    assert sorted(in_python.messages_of(source)) == [
        ("%(n)s file", "%(n)s files"),
        ("'%(name)s' is a folder of %(name2)s, %(value)s %% left.", ""),
        ("'%(name)s' is a link of %(name2)s, %(value)s %% left.", ""),
        ("Saved.", ""),
    ]


def test_every_message_is_translated():
    assert catalogue.missing(catalogue.read("zh_Hans")) == [], (
        "translate it in memoryhub/locale/zh_Hans, then run `make messages`"
    )


def test_the_catalogues_are_those_of_the_source():
    said = {catalogue.key(one, many) for one, (many, _) in catalogue.extracted().items()}
    listed = {tuple(one.id) if one.pluralizable else one.id for one in catalogue.read("en") if one.id}
    assert said == listed, "run `make messages`"


def test_reasons_of_coding_agents_are_still_said():
    folders = ("dialects/coding", "domain/coding_agents", "domain/contexts")
    source = "".join(file.read_text() for folder in folders for file in (in_python.PACKAGE / folder).glob("*.py"))
    pieces = {max(re.split(r"%\(\w+\)s", text), key=len) for text in in_python.LOADING}
    assert not {piece for piece in pieces if piece.strip() not in source}
