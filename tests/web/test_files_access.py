"""Files and access: the tester says what the server does, saving says what changed, rules are tried before they count."""

import pytest
from django.urls import reverse

from memoryhub.domain import accounts, files, prompts, proposals, spaces
from memoryhub.errors import HubError
from memoryhub.models import HUB, ActivityLine, Actor, Mount, PolicyRule
from memoryhub.text.path_patterns import matches
from memoryhub.web.path_tester import test_path as try_path
from tests.one_line import one_line

PAGE = "/s/books/settings/access/"
OUTCOMES = {
    "applied": "Applies at once", "proposal": "Becomes a proposal", "read_only": "Refused: read only",
    "left_out": "Refused: left out by its mount", "not_memory": "Refused: agents never write it",
    "no_mount": "Refused: under no mount", "secret_found": "Refused: the path holds a secret",
    "invalid_path": "Refused: no valid path",
}  # fmt: skip


@pytest.fixture
def forge(house):
    return prompts.create_agent(house.space, HUB, "forge")


@pytest.fixture
def shop(house, tmp_path):
    """Mounts of every policy, one of them a directory that leaves something out, and rules that turn the policy around."""
    (tmp_path / "AGENTS.md").write_text("# Shop\n")
    (tmp_path / "drafts").mkdir()
    space = house.space
    files.add_mount(
        space, HUB, "/shop/", store="filesystem", directory=str(tmp_path), policy="review", exclude="drafts/"
    )
    files.add_mount(space, HUB, "/open/", store="database", policy="trusted")
    files.add_mount(space, HUB, "/open/closed/", store="database", policy="read_only")
    files.add_mount(space, HUB, "/shown/", store="views")
    files.add_rule(space, HUB, "/open/asks/**", "review", confirmed=True)
    files.add_rule(space, HUB, "/shop/*.log.md", "trusted", confirmed=True)
    files.add_rule(
        space, HUB, "/open/asks/never.md", "read_only", confirmed=True
    )  # too late: the first that matches counts
    files.add_rule(space, HUB, "/shop/hooks/run.sh", "trusted", confirmed=True)
    return space


def what_happens(space, agent, path):
    """The outcome of a real write by an agent, by the name that the tester has for it."""
    try:
        answer = proposals.submit(space, Actor.of_agent(agent), files.ChangeRequest("write", path, content=b"- One.\n"))
    except HubError as refusal:
        return refusal.code
    return "applied" if isinstance(answer, files.Applied) else "proposal"


PATHS = [
    "/shop/AGENTS.md", "/shop/new/notes.md", "/shop/drafts/a.md", "/shop/.env", "/shop/.git/config", "/shop/a.log.md",
    "/shop/tool.sh", "/shop/hooks/run.sh", "/shop/node_modules/x/README.md", "/open/a.md", "/open/closed/a.md", "/open/closedish.md",
    "/open/asks/a.md", "/open/asks/never.md", "/open/run.py", "/open/.bashrc", "/nowhere/a.md", "/shop/../etc/passwd", "/open/\x01",
    "/open/ghp_16C7e42F292c6912E7710c838347Ae178B4a.md", "/open//double.md", "/", "relative.md", "/open/记忆.md", "~/a.md", "/shown/a.md",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_the_tester_says_what_the_server_does(shop, forge, house, path):
    tested = try_path(shop, house.owner, path, "forge", [forge])
    assert tested.outcome == OUTCOMES.get(what_happens(shop, forge, path), "Refused: no valid path"), tested


def test_conditions_of_a_rule_are_told(shop, forge, house):
    files.add_rule(shop, HUB, "/shop/small/**", "trusted", max_added=20, unless_findings=True, confirmed=True)
    tested = try_path(shop, house.owner, "/shop/small/a.md", "", [forge])
    assert tested.outcome == "Applies at once under conditions, else becomes a proposal"
    assert "small enough and no detector" in next(step.says for step in tested.steps if step.glyph == "proposal")


def test_a_rule_for_one_agent_is_tested_for_that_agent(shop, forge, house):
    other = prompts.create_agent(shop, HUB, "other")
    files.add_rule(shop, HUB, "/shop/own/**", "trusted", agent=forge, confirmed=True)
    said = {
        by: try_path(shop, house.owner, "/shop/own/a.md", by, [forge, other]).outcome for by in ("forge", "other", "")
    }
    assert said == {"forge": "Applies at once", "other": "Becomes a proposal", "": "Becomes a proposal"}


@pytest.mark.parametrize(
    ("on_disk", "put_back", "outcome"),
    [
        ("apply", False, "Counts at once"),
        ("hold", False, "Held as a proposal"),
        ("hold", True, "approved text is put back"),
    ],
)
def test_a_change_on_disk_is_tested(shop, forge, house, on_disk, put_back, outcome):
    mount = Mount.objects.get(prefix="/shop/")
    files.change_on_disk(shop, HUB, mount, on_disk, put_back=put_back)
    assert outcome in try_path(shop, house.owner, "/shop/AGENTS.md", ":disk", [forge]).outcome
    assert try_path(shop, house.owner, "/open/a.md", ":disk", [forge]).outcome == "Has no file on disk"
    assert "left out" in try_path(shop, house.owner, "/shop/drafts/a.md", ":disk", [forge]).outcome


def test_the_reader_is_told_what_their_role_may(shop, house):
    said = [try_path(shop, actor, "/open/a.md", ":me", []).outcome for actor in (house.viewer, house.editor)]
    assert said == ["Refused: your role only reads", "Saved at once, as your revision"]


def test_the_steps_name_mount_rule_and_prompts(shop, forge, house, as_role):
    prompts.add_source(shop, HUB, "/shop/AGENTS.md")
    page = one_line(as_role("viewer").get(f"{PAGE}test/", {"path": "/shop/AGENTS.md", "by": "forge"}))
    steps = [
        page.index(step)
        for step in (">Becomes a proposal<", ">Mount<", ">Rule<", ">Left out<", ">A write by forge<", ">Prompts<")
    ]
    assert steps == sorted(steps)
    assert "in those of forge" in page
    assert Mount.objects.get(prefix="/shop/").directory not in page  # owners alone see where it lies
    assert "in none: it is no source" in one_line(as_role("viewer").get(PAGE, {"path": "/open/a.md"}))


# ---- old addresses, empty and long lists


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mounts/", "#mounts"), ("mounts/?explain=/a.md&agent=forge", "?path=%2Fa.md&by=forge#tester"),
        ("mounts/?prefix=/x/", "?prefix=%2Fx%2F#add-mount"), ("sources/", "#sources"),
        ("sources/?agent=forge", "?agent=forge#sources"), ("rules/", "#rules"),
    ],
)  # fmt: skip
def test_old_addresses_lead_here(as_role, forge, old, new):
    answer = as_role("owner").get(f"/s/books/{old}")
    assert (answer.status_code, answer["Location"]) == (303, PAGE + new)


def test_an_empty_space_says_what_to_do(as_role):
    page = one_line(as_role("owner").get(PAGE))
    for said in ("No mount yet", "No file goes into prompts yet", "No rule yet"):
        assert said in page
    assert "Add mount" not in one_line(as_role("viewer").get(PAGE))


def test_a_thousand_rules_and_files(as_role, house, statements):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="trusted")
    files.write(house.space, HUB, "/memories/note-7.md", b"x\n")
    PolicyRule.objects.bulk_create(
        PolicyRule(space=house.space, position=n, pattern=f"/memories/note-{n}.md", policy="review")
        for n in range(1, 1001)
    )
    owner = as_role("owner")
    with statements() as asked:
        page = one_line(owner.get(PAGE))
    assert len(asked) < 60
    assert page.count('data-move="up"') == 50 and "Later rules" in page and "1000 rules" in page
    assert page.count("1 file matches") == 1
    last = one_line(owner.get(PAGE, {"rules": "9999"}))
    assert "/memories/note-1000.md" in last and "Earlier rules" in last and "Later rules" not in last
    rule = PolicyRule.objects.get(pattern="/memories/note-1000.md")
    owner.post(reverse("policies.reorder_rule", args=["books", rule.pk]), {"to": "1"})
    assert next(iter(files.rules_of_space(house.space))) == rule


def test_a_hundred_mounts_and_more(as_role, house):
    Mount.objects.bulk_create(
        Mount(space=house.space, prefix=f"/m{n:04}/", store="database", policy="review") for n in range(1000)
    )
    page = one_line(as_role("owner").get(PAGE))
    assert page.count(">Edit<") == 100 and "900 more mounts." in page
    assert "/m0950/" in one_line(as_role("owner").get(PAGE, {"mount": Mount.objects.get(prefix="/m0950/").pk}))


def test_files_are_offered_by_their_words(as_role, house):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="trusted")
    for n in range(60):
        files.write(house.space, HUB, f"/memories/note-{n}.md", b"x\n")
    files.write(house.space, HUB, '/memories/a"b.md', b"x\n")
    client = as_role("owner")
    assert one_line(client.get(f"{PAGE}files/", {"path": "note"})).count("<option") == 50
    assert 'value="/memories/a&quot;b.md"' in one_line(client.get(f"{PAGE}files/", {"path": 'a"b'}))


# ---- saving


def test_saving_a_mount_says_what_changed_and_nothing_else_changes(as_role, shop):
    mount = Mount.objects.get(prefix="/shop/")
    url = reverse("mounts.change", args=["books", mount.pk])
    form = {
        "policy": "read_only", "on_disk": "hold+put_back", "directory": mount.directory, "takes": mount.takes, "include": "",
        "exclude": "drafts/\r\n*.tmp",
    }  # fmt: skip
    owner = as_role("owner")
    page = one_line(owner.post(url, form, follow=True))
    assert (
        "/shop/ Changes by agents: Need approval → Not allowed (read only); Changes on disk: Apply → Hold and put back; Exclude changed."
        in page
    )
    mount.refresh_from_db()
    assert (mount.policy, mount.on_disk, mount.put_back, mount.exclude) == ("read_only", "hold", True, "drafts/\n*.tmp")
    lines = ActivityLine.objects.within(shop).filter(verb="mounts.change").count()
    assert "Nothing changed." in one_line(owner.post(url, form, follow=True))
    assert ActivityLine.objects.within(shop).filter(verb="mounts.change").count() == lines


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"directory": "/no/such/directory"}, 'id="m{pk}_directory_error"'),
        ({"policy": "nonsense"}, "Changes by agents: choose one of the list."),
        ({"directory": ""}, "Directory is required."),
        ({"exclude": "x" * 600}, 'id="m{pk}_exclude_error"'),
    ],
)
def test_a_refused_mount_keeps_what_was_typed_beside_the_reason(as_role, shop, values, said):
    mount = Mount.objects.get(prefix="/shop/")
    form = {"policy": "trusted", "directory": mount.directory, "exclude": "typed/"} | values
    answer = as_role("owner").post(reverse("mounts.change", args=["books", mount.pk]), form)
    page = one_line(answer)
    assert answer.status_code in (403, 422)
    assert said.format(pk=mount.pk) in page
    assert form["exclude"] in page
    mount.refresh_from_db()
    assert mount.policy == "review"


# ---- rules


@pytest.fixture
def past(house, forge):
    """Two proposals of an agent, one of them rejected by the owner; and a write that counted at once."""
    space = house.space
    files.add_mount(space, HUB, "/memories/", store="database", policy="review")
    files.add_mount(space, HUB, "/open/", store="database", policy="trusted")
    for name in ("a", "b"):
        proposals.propose(space, forge, kind="write", path=f"/memories/{name}.md", change={"content": f"- {name}\n"})
    proposals.reject(space, house.owner, 1, note="no")
    proposals.submit(space, Actor.of_agent(forge), files.ChangeRequest("write", "/open/c.md", content=b"- c\n"))
    return space


@pytest.mark.parametrize(
    ("pattern", "policy", "said"),
    [
        (
            "/memories/**",
            "trusted",
            "Of 2 proposals, 2 would have applied at once, 1 of them rejected by people (1 by you).",
        ),
        ("/memories/b.md", "trusted", "Of 1 proposal, 1 would have applied at once, none of them rejected."),
        ("/memories/**", "read_only", "Of 2 proposals, 2 would have been refused, none of them approved."),
        ("/open/**", "review", "1 write that counted at once would have waited for approval."),
        ("/memories/**", "review", "No write of the past would have been decided otherwise."),
        ("/else/**", "trusted", "No proposal of the past is about these paths"),
    ],
)
def test_a_rule_is_tried_before_it_counts(as_role, past, pattern, policy, said):
    form = {"pattern": pattern, "policy": policy, "reviewers": "1"}
    owner = as_role("owner")
    part = one_line(owner.post(reverse("policies.try_rule", args=["books"]), form, headers={"HX-Request": "true"}))
    assert said in part and "<html" not in part
    whole = one_line(owner.post(reverse("policies.try_rule", args=["books"]), form))
    assert said in whole and f'value="{pattern}"' in whole
    assert not PolicyRule.objects.exists()


def test_matches_are_shown_with_the_rule_that_decides_first(as_role, shop):
    files.write(shop, HUB, "/open/asks/a.md", b"x\n")
    files.write(shop, HUB, "/open/b.md", b"x\n")
    part = one_line(
        as_role("owner").post(
            reverse("policies.try_rule", args=["books"]), {"pattern": "/open/**"}, headers={"HX-Request": "true"}
        )
    )
    assert "2 files match" in part
    assert '/open/asks/a.md</span> <span class="dim">rule 1 decides first' in part.replace("><", "> <")
    assert part.count("decides first") == 1


def test_a_rule_is_changed_at_its_place(as_role, shop, forge):
    second = list(files.rules_of_space(shop))[1]
    owner = as_role("owner")
    page = one_line(owner.get(PAGE, {"rule": second.pk}))
    assert f'value="{second.pattern}"' in page and "Save rule" in page
    form = {"pattern": "/shop/**", "policy": "review", "reviewers": "2", "agent": "forge", "confirm": "on"}
    assert owner.post(reverse("policies.change_rule", args=["books", second.pk]), form).status_code == 303
    changed = list(files.rules_of_space(shop))[1]
    assert (changed.pk, changed.pattern, changed.policy, changed.reviewers, changed.agent) == (
        second.pk,
        "/shop/**",
        "review",
        2,
        forge,
    )
    refused = owner.post(reverse("policies.change_rule", args=["books", second.pk]), {**form, "pattern": ""})
    assert refused.status_code == 422 and "Path pattern is required." in one_line(refused)
    assert ActivityLine.objects.within(shop).filter(verb="policies.change").count() == 1


@pytest.mark.parametrize(
    ("to", "order"),
    [("1", [2, 0, 1, 3]), ("2", [0, 2, 1, 3]), ("4", [0, 1, 3, 2]), ("99", [0, 1, 3, 2]), ("3", [0, 1, 2, 3])],
)
def test_the_order_of_rules_decides(as_role, shop, to, order):
    before = list(files.rules_of_space(shop))
    as_role("owner").post(reverse("policies.reorder_rule", args=["books", before[2].pk]), {"to": to})
    assert list(files.rules_of_space(shop)) == [before[n] for n in order]


def test_a_rule_of_another_space_is_not_found(as_role, shop):
    other = spaces.create(HUB, "other", "Other")
    rule = files.add_rule(other, HUB, "/x/**", "review", confirmed=True)
    owner = as_role("owner")
    for name in ("policies.change_rule", "policies.reorder_rule", "policies.remove_rule"):
        answer = owner.post(reverse(name, args=["books", rule.pk]), {"pattern": "/y/**", "policy": "review", "to": "1"})
        assert answer.status_code == 404
    assert "/x/**" not in one_line(owner.get(PAGE, {"rule": rule.pk}))


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_others_than_owners_see_no_forms_and_change_nothing(as_role, shop, role):
    client = as_role(role)
    page = one_line(client.get(PAGE))
    assert "Rules by path" not in page and "Save mount" not in page and 'action="/s/books/sources/add/"' not in page
    rule = PolicyRule.objects.first()
    for name, args in (
        ("policies.try_rule", []),
        ("policies.change_rule", [rule.pk]),
        ("policies.reorder_rule", [rule.pk]),
    ):
        assert (
            client.post(reverse(name, args=["books", *args]), {"pattern": "/x", "policy": "review"}).status_code == 403
        )


def test_matching_many_files_by_many_rules_stays_bounded(house, monkeypatch):
    files.add_mount(house.space, HUB, "/memories/", store="database", policy="trusted")
    for n in range(30):
        files.write(house.space, HUB, f"/memories/{n:03}.md", b"x\n")
    rules = __import__("memoryhub.domain.files.mounts.rules", fromlist=["matches"])
    compared = []
    monkeypatch.setattr(rules, "matches", lambda *pair: compared.append(pair) or matches(*pair))
    monkeypatch.setattr(rules, "MAX_COMPARISONS", 100)
    monkeypatch.setattr(rules, "MIN_PATHS", 5)
    counts, is_cut = files.count_matched(house.space, ["/memories/*.md"] * 10)
    assert is_cut and set(counts) == {10} and len(compared) == 100


# ---- other sections


def test_settings_are_saved_by_section(as_role, house):
    owner = as_role("owner")
    sent = {"section": "working", "working_limit": "20", "working_hours": "12", "logs_reach_others": "person"}
    page = one_line(owner.post("/s/books/settings/change/", sent, follow=True))
    assert "Newest entries kept: 50 → 20; Entries expire after (hours): 24 → 12; " in page
    assert "What agents log reaches other agents: After the gate → After a person." in page
    house.space.refresh_from_db()
    assert house.space.settings["working_limit"] == 20 and "proposal_days" not in house.space.settings
    refused = owner.post("/s/books/settings/change/", {**sent, "working_limit": "1000"})
    assert refused.status_code == 422
    assert 'id="working_working_limit_error"' in one_line(refused) and 'value="1000"' in one_line(refused)


def test_every_setting_stands_in_a_section():
    from memoryhub.forms import SettingsForm

    listed = [name for _title, names in SettingsForm.SECTIONS.values() for name in names]
    assert sorted(listed) == sorted(SettingsForm.base_fields)


@pytest.mark.parametrize(
    "page",
    [
        "settings/",
        "settings/access/",
        "settings/gate/",
        "settings/usage/",
        "settings/people/",
        "settings/webhooks/",
        "settings/import/",
        "erasure/",
    ],
)
def test_one_list_leads_to_every_settings_page(as_role, page):
    shown = one_line(as_role("owner").get(f"/s/books/{page}"))
    assert shown.count('aria-label="Settings"') == 1
    nav = shown.partition('class="set-nav"')[2].partition("</nav>")[0]
    assert nav.count('aria-current="page"') == 1
    assert f'href="/s/books/{page}" aria-current="page"' in nav
    for label in (
        "General",
        "Files and access",
        "Gate",
        "Usage and limits",
        "Members",
        "Notifications",
        "Import",
        "Erasure",
    ):
        assert f">{label}</a>" in nav.replace("> ", ">").replace(" <", "<")


def test_a_viewer_is_offered_the_pages_that_open(as_role):
    nav = one_line(as_role("viewer").get("/s/books/settings/")).partition('class="set-nav"')[2].partition("</nav>")[0]
    assert "Notifications" not in nav and "Members" not in nav and "Files and access" in nav


def test_tokens_are_made_for_agents_of_this_page(house, forge, as_role):
    """The token form of an agent names its wrong field by its label."""
    assert accounts.last_used_token(forge) is None
    answer = as_role("owner").post("/s/books/tokens/new/", {"agent": "forge", "scopes": ["nothing"]})
    assert answer.status_code == 422
