"""A decision looks for secrets anew, but for a change in which these rules found none."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

import memoryhub
from memoryhub.detectors import rules_digest, secrets
from memoryhub.domain import files, proposals
from memoryhub.domain.proposals import findings
from memoryhub.domain.spaces.secrets import value_digest
from memoryhub.errors import Invalid
from memoryhub.models import HUB, AllowedValue, Proposal
from tests.domain.proposals.test_decide import PATH, TEXT, file, forge, rk, space, write  # noqa: F401  fixtures
from tests.fixtures.secret_texts import made

pytestmark = pytest.mark.django_db
KEY = "gh" + "p_" + made(36)
PACKAGE = Path(memoryhub.__file__).parent
WITH_KEY = f"{TEXT}- token {KEY}\n"


@pytest.fixture
def looks(monkeypatch) -> list[str]:
    """The texts in which secrets are looked for."""
    found, real = [], secrets.find
    monkeypatch.setattr(secrets, "find", lambda text, *more: found.append(text) or real(text, *more))
    return found


@pytest.fixture
def unseen(space, forge, file, monkeypatch) -> Proposal:
    """A proposal with a key that the rules of its time did not know."""
    with monkeypatch.context() as earlier:
        earlier.setattr(secrets, "find", lambda *_: [])
        return write(space, forge, WITH_KEY)


def decide(proposal: Proposal, actor, **more: object) -> Proposal:
    seen = proposals.result(proposals.get(proposal.space, proposal.number)).seen
    return proposals.approve(proposal.space, actor, proposal.number, seen=seen, **more)


def test_the_texts_that_were_looked_at_are_not_looked_at_again(space, forge, rk, file, looks) -> None:
    asked = write(space, forge, TEXT + "- Another line.\n")
    assert looks
    looks.clear()
    assert (decide(asked, rk).state, looks) == ("approved", [])


def by_other_rules(proposal: Proposal, monkeypatch) -> None:
    monkeypatch.setattr(findings, "rules_digest", lambda: "of a later version")


def by_another_key(proposal: Proposal, monkeypatch) -> None:
    """A digest that came with another hub's rows says nothing here."""
    monkeypatch.setattr(findings.settings, "SECRET_KEY", "another")


def where_none_was_noted(proposal: Proposal, monkeypatch) -> None:
    """As of proposals from before the column, from the disk, and for long-term memory."""
    Proposal.objects.update(checked_digest="")


def on_another_text(proposal: Proposal, monkeypatch) -> None:
    files.write(proposal.space, HUB, PATH, f"- Above.\n{TEXT}".encode())


@pytest.mark.parametrize("changed", [by_other_rules, by_another_key, where_none_was_noted, on_another_text])
def test_whatever_the_look_depends_on_makes_it_look_again(unseen, rk, changed: Callable, monkeypatch) -> None:
    changed(unseen, monkeypatch)
    with pytest.raises(Invalid) as refusal:
        decide(unseen, rk)
    assert refusal.value.code == "secret_found" and KEY not in str(refusal.value.as_json())


def test_with_nothing_changed_it_does_not(unseen, rk) -> None:
    """What the others are compared with: the rules of then are the rules of now."""
    assert decide(unseen, rk).state == "approved"


def test_other_words_of_the_reviewer_are_looked_at(space, forge, rk, file) -> None:
    asked = write(space, forge, TEXT + "- Another line.\n")
    with pytest.raises(Invalid) as refusal:
        decide(asked, rk, content=WITH_KEY.encode())
    assert refusal.value.code == "secret_found"


def test_what_a_person_allowed_is_looked_at_again(space, forge, rk, file) -> None:
    """They may have changed their mind, and so may an owner about whether secrets are refused."""
    allowed = AllowedValue.objects.create(space=space, digest=value_digest(space, KEY))
    asked = write(space, forge, WITH_KEY)
    assert asked.checked_digest == ""
    allowed.delete()
    with pytest.raises(Invalid) as refusal:
        decide(asked, rk)
    assert refusal.value.code == "secret_found"


def test_what_is_no_text_is_looked_at_again(space, forge, file) -> None:
    asked = proposals.propose(space, forge, kind="write", path=PATH, content=TEXT.encode("utf-16"))
    assert asked.checked_digest == ""


def test_the_digest_is_of_every_module_that_detectors_run() -> None:
    """And of what chooses the pieces of a text that they look at."""
    mine = {file for file in rules_digest.files() if file.suffix == ".py"}
    imported = {one for file in mine for one in imports_of(file)}
    assert {one.relative_to(PACKAGE).as_posix() for one in imported - mine} <= {"__init__.py", "errors.py"}


def imports_of(file: Path) -> set[Path]:
    """The files of the project that a module imports by name."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = [one.name for one in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        base = getattr(node, "module", None) or ""
        for name in [base, *(f"{base}.{one}" for one in names)] if names else ():
            if name.startswith("memoryhub"):
                place = PACKAGE.joinpath(*name.split(".")[1:])
                found |= {one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()}
    return found


def test_another_byte_of_a_rule_is_another_digest(tmp_path, monkeypatch) -> None:
    rule = tmp_path / "rule.py"
    monkeypatch.setattr(rules_digest, "FOLDERS", (tmp_path,))
    digests = []
    for content in ("RULES = 1", "RULES = 2"):
        rule.write_text(content)
        rules_digest.rules_digest.cache_clear()
        digests.append(rules_digest.rules_digest())
    rules_digest.rules_digest.cache_clear()
    assert len(set(digests)) == 2
