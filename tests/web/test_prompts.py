"""The preview page: what an agent gets, where it came from, what it got before; who may look and who may change."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from django.utils.html import escape

from memoryhub import dialects
from memoryhub.domain import files, longterm, prompts, spaces
from memoryhub.models import HUB, DialectTemplate, EntryRevision, LongtermEntry, Revision, WorkingEntry
from memoryhub.web.prompt_view import PromptView
from tests.one_line import one_line
from tests.outputs import admit
from tests.prompting import AGENTS, lists

TEXT = b"# Team\n- one <!-- note -->\n- zero\xe2\x80\x8bwidth\n"


@pytest.fixture
def counter(house):
    files.add_mount(house.space, HUB, "/memories/")
    files.write(house.space, house.editor, AGENTS, TEXT, reason="first")
    lists(house.space, AGENTS)
    return prompts.create_agent(house.space, HUB, "counter", system_prompt="Base <b>.", budget=4000)


@pytest.fixture
def see(as_role, counter):
    def see(role="viewer", tail="", **query):
        return as_role(role).get(f"/s/books/prompt/counter/{tail}", query)

    return see


def text_of(answer):
    """What the page shows as the prompt's lines, markup and labels taken away."""
    html = answer.content.decode()
    lines = re.findall(r'<span id="L\d+" data-n="\d+">(.*?)</span>(?=<span id="L|</pre>)', html, re.DOTALL)
    return [re.sub(r'<span class="inv".*?</span>|<[^>]+>', "", line) for line in lines]


def test_the_page_shows_the_exact_text_with_its_origin(see, house, counter):
    answer = see(dialect="plain")
    html = one_line(answer)
    assert answer.status_code == 200
    prompt = prompts.assemble(house.space, counter, dialect="plain")
    assert text_of(answer) == [escape(line).replace("\u200b", "") for line in prompt.text.splitlines()]
    assert f"/s/books/files{AGENTS}?view=blame" in html
    assert "revision 1</a>, written by a-editor" in html
    assert '<span class="inv" title="zero-width space">U+200B</span>' in html
    assert f"sha256 {prompt.sha256[:8]}" in html
    assert "Base &lt;b&gt;." in html
    Revision.objects.filter(space=house.space, path=AGENTS).update(
        actor_kind="disk", actor_name="disk", git_author="Mia Keller"
    )
    assert "revision 1</a>, written by Mia Keller" in one_line(see(dialect="plain"))


def test_warnings_lead_to_their_line(see):
    html = one_line(see(dialect="plain"))
    path = '<span class="mono">/memories/AGENTS.md</span>'
    assert f'<a href="#L4">Line 4</a>: An HTML comment in {path} reaches the model' in html
    assert f'<a href="#L5">Line 5</a>: {path}: ' in html
    assert '- one <span class="found mild">&lt;!--</span> note --&gt;' in html


def test_a_secret_is_underlined_where_it_stands_and_its_line_is_the_prompts(see, house, counter):
    key = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    # As it would be after a change on disk, where no gate stands.
    prompt = prompts.assemble(house.space, counter, dialect="plain", changes={AGENTS: f"# Team\n- é {key}\n".encode()})
    (warn,) = [one for one in prompt.all_warnings if one.code == "secret_like"]
    assert warn.message.startswith(f"{AGENTS}: A secret (Stripe key). Secrets do not belong in memory")
    assert [prompt.data[start:end].decode() for start, end in warn.places] == [key]
    assert PromptView(house.space, prompt).marks == {4: [(4, 4 + len(key), "found")]}


def test_each_warning_leads_to_where_it_is_mended(see, house):
    lists(house.space, AGENTS, AGENTS, "/memories/never.md")
    owner = one_line(see("owner", dialect="deepagents/0.6.2"))
    assert owner.count("reaches the model") == 1
    listed = re.findall(r'<li class="note.*?</li>', owner)
    leads = {
        re.sub("<[^>]+>", "", line).strip()[:22]: re.findall(r'(?:href|action)="([^"#]+)', line)[-1] for line in listed
    }
    assert leads == {
        "The template text of d": "/s/books/prompt/templates/download/",
        "Line 6: An HTML commen": f"/s/books/files{AGENTS}?view=edit",
        "Line 7: /memories/AGEN": f"/s/books/files{AGENTS}?view=edit",
        "Line 13: /memories/AGE": f"/s/books/files{AGENTS}?view=edit",
        "Line 19: /memories/AGE": f"/s/books/files{AGENTS}?view=edit",
        "/memories/AGENTS.md is": "/s/books/settings/access/?agent=counter",
        "/memories/never.md doe": "/s/books/files/memories/never.md?view=edit",
    }


def test_query_and_task_time_and_dialect_are_picked(see, house):
    then = timezone.now()
    assert "# Task" in see(ask="Count the coins").content.decode()
    files.write(house.space, house.editor, AGENTS, b"later\n")
    assert "later" in see(dialect="plain").content.decode()
    old = see(dialect="plain", at=then.isoformat())
    assert "later" not in old.content.decode()
    assert "as it was on" in old.content.decode()


def test_every_form_of_every_dialect_can_be_picked_and_a_named_version_stays(see):
    html = see(dialect="deepagents/0.5.1").content.decode()
    picker = html[html.index('<select class="input" id="di"') :].partition("</select>")[0]
    offered = re.findall(r'<option value="([^"]*)"', picker)
    assert set(dialects.names()) < set(offered)
    assert '<option value="deepagents/0.5.1" selected>' in picker
    assert ">deepagents/0.3.7 to 0.4.1<" in picker  # of the form 0.3.4, which puts memory first
    first, second = (see(tail="raw/", dialect=f"deepagents/0.3.{patch}").content for patch in (4, 7))
    assert first != second


def test_a_time_is_one_of_the_readers_own_clock_and_the_address_names_its_zone(as_role, house, counter):
    client = as_role("viewer")
    client.cookies["memoryhub_zone"] = "Asia%2FKolkata"
    for tail, name in (("", "at"), ("compare/", "from"), ("compare/", "to")):
        here = f"/s/books/prompt/counter/{tail}"
        gone = client.get(here, {name: "2024-11-19T14:02:03", "dialect": "plain"})
        assert (gone.status_code, gone["Location"]) == (302, f"{here}?{name}=2024-11-19T08%3A32%3A03Z&dialect=plain")
        shown = client.get(here, {name: "2024-11-19T08:32:03Z"}).content.decode()
        assert re.search(f'name="{name}"\\s+value="2024-11-19T14:02:03"', shown)
        assert '<span class="dim">Asia/Kolkata</span>' in shown
    shown = client.get("/s/books/prompt/counter/", {"at": "2024-11-19T08:32:03Z"}).content.decode()
    assert "as it was on Tuesday 19 November 2024, 14:02:03 IST" in shown


def test_what_changed_since_a_delivery_starts_at_its_very_moment(as_role, house, counter):
    client = as_role("viewer")
    client.cookies["memoryhub_zone"] = "Asia%2FKolkata"
    prompts.record_delivery(house.space.pk, counter.pk, "t-42", prompts.assemble(house.space, counter))
    ledger = one_line(client.get("/s/books/prompt/counter/deliveries/"))
    since = re.search(r'href="([^"]+)">What changed since', ledger)[1]
    answer = client.get(since)
    assert answer.status_code == 200
    assert "The prompts are identical." in one_line(answer)


@pytest.mark.parametrize("query", [{"dialect": "nonsense"}, {"at": "yesterday"}, {"ask": "a\x00"}])
def test_a_wrong_wish_is_said_on_the_page(see, query):
    answer = see(**query)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.content.decode()


def test_htmx_gets_the_part(as_role, counter):
    answer = as_role("viewer").get("/s/books/prompt/counter/", headers={"HX-Request": "true"})
    assert answer.content.lstrip().startswith(b'<div class="stack" id="prompt">')


def test_raw_and_download_are_the_bytes(see, house, counter):
    data = prompts.assemble(house.space, counter, dialect="plain").data
    raw = see(tail="raw/", dialect="plain")
    assert (raw.content, raw["Content-Type"]) == (data, "text/plain; charset=utf-8")
    assert see(tail="raw/", dialect="plain", download="1")["Content-Disposition"].startswith("attachment")


def test_where_no_prompt_was_there_are_no_bytes_to_download(see):
    assert "/raw/" in see().content.decode()
    before = see(at=(timezone.now() - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    assert before.status_code == 200 and "/raw/" not in before.content.decode()


def test_text_alone(see):
    html = see(dialect="plain", bare="1").content.decode()
    assert 'class="stretch is-plain bare"' in html
    assert "written by" not in html


def test_a_line_leads_to_who_wrote_it(see, house):
    files.write(house.space, house.reviewer, AGENTS, TEXT + b"- added\n", reason="it was missing")
    html = see(dialect="plain", line="6").content.decode()
    assert "Written by a-reviewer in" in html
    assert "it was missing" in html
    assert "Written by a-editor in" in see(dialect="plain", line="3").content.decode()
    assert see(dialect="plain", line="999").status_code == 200


def test_a_line_leads_to_the_entry_or_the_setting_behind_it(see, house, counter):
    admit(house.space, content="The gateway is slow today.", agent=counter)
    entry = longterm.store(house.space, house.reviewer, "The gateway is slow\non Mondays.", reason="seen twice")
    prompts.change_agent(counter, house.owner, persona="Kind.")
    lines = see(tail="raw/", ask="gateway").content.decode().splitlines()

    def origin(start):
        number = next(n for n, line in enumerate(lines, 1) if start in line)
        part = see(tail="line/", ask="gateway", line=number)
        assert f'Line <b class="strong">{number}</b> is' in part.content.decode()
        return " ".join(re.sub(r"<[^>]+>", " ", part.content.decode()).split())

    assert "working memory : logged by counter" in origin("slow today")
    assert f"long-term entry L-{entry.number} : promoted by a-reviewer" in origin("(0.")
    assert "seen twice" in origin("(0.")
    assert "the persona of counter : set by a-owner" in origin("Kind.")
    assert "the base prompt of counter : set by hub" in origin("Base")
    assert "the hub's own guidelines" in origin("# What the team knows")
    assert "the request, which is not stored" in origin("# Task")
    files.write(house.space, house.editor, "/memories/hub-guidelines.md", b"# Ours\n", reason="our own")
    lines = see(tail="raw/", ask="gateway").content.decode().splitlines()
    assert "line 1 of /memories/hub-guidelines.md . Written by a-editor in revision 1" in origin("# Ours")
    assert see(tail="line/", line="9999").status_code == 404


def test_what_gave_way_is_listed(see, house, counter):
    admit(house.space, content="The gateway is slow today.", agent=counter)
    prompts.change_agent(counter, HUB, budget=281)
    html = see(ask="gateway").content.decode()
    assert "1 of 1 entries of working memory are left out" in html
    assert re.search(r"Entries left out to keep the budget.*The gateway is slow today\.", html, re.DOTALL)
    assert "Entries left out to keep" not in see().content.decode()


def test_the_thread_of_one_agent_is_not_asked_of_another(see, house):
    prompts.create_agent(house.space, HUB, "forge")
    gone = see(agent="forge", thread="t-1", dialect="plain", base="call", ask="")
    assert (gone.status_code, gone["Location"]) == (302, "/s/books/prompt/forge/?dialect=plain")


def test_memory_that_is_off_and_a_source_that_is_missing_are_said(see, counter, house):
    lists(house.space, AGENTS, "/memories/never.md")
    assert "/memories/never.md</span> does not exist" in see().content.decode()
    prompts.change_agent(counter, HUB, memory_is_on=False)
    assert "Memory is switched off for this agent" in see().content.decode()


def test_deliveries_and_threads_on_older_memory(see, house, counter):
    prompt = prompts.assemble(house.space, counter, dialect="plain")
    prompts.record_delivery(house.space.pk, counter.pk, "t-42", prompt)
    assert "same as delivered" in one_line(see(dialect="plain"))
    files.write(house.space, house.editor, AGENTS, b"new\n")
    html = one_line(see(dialect="plain"))
    assert "has revision 1, now 2" in html
    assert "differs from its last delivery" in one_line(see())
    assert see(tail=f"delivered/{prompt.sha256}/").content == prompt.data
    assert see(tail="delivered/none/").status_code == 404
    ledger = one_line(see(tail="deliveries/"))
    assert prompt.sha256[:12] in ledger
    assert f"{AGENTS} revision 1" in ledger
    assert "No deliveries yet" in one_line(see(tail="deliveries/", thread="other"))


def test_two_moments_with_the_cause_of_each_change(see, house, counter):
    start = timezone.now()
    files.write(house.space, house.editor, AGENTS, b"# Team\n- two\n", reason="counted again")
    prompts.change_agent(counter, HUB, persona="Kind.")
    html = see(tail="compare/", **{"from": start.isoformat()}).content.decode()
    assert '<tr class="add">' in html
    assert "counted again" in html
    assert "changed the persona" in html
    assert "the prompt cache breaks at byte" in html
    nothing = see(tail="compare/", **{"from": timezone.now().isoformat()}).content.decode()
    assert "The prompts are identical." in nothing


def test_what_became_of_each_entry_between_two_moments_stands_at_its_place(see, house, counter):
    now = timezone.now()
    counter.created_at = now - timedelta(hours=4)
    counter.save()
    start, earlier, since = now - timedelta(hours=2), now - timedelta(hours=3), now - timedelta(hours=1)
    old = longterm.store(house.space, house.reviewer, "The gateway was slow in March.")
    LongtermEntry.objects.update(created_at=earlier)
    EntryRevision.objects.update(created_at=earlier)
    slow = admit(house.space, content="The gateway is slow today.", agent=counter, at=earlier)
    gone = admit(house.space, content="The gateway is blue.", agent=counter, at=earlier)
    WorkingEntry.objects.filter(pk=slow).update(expires_at=since)
    WorkingEntry.objects.filter(pk=gone).update(removed_at=since)
    longterm.retire(house.space, house.reviewer, old.number, "over")
    new = longterm.store(house.space, house.owner, "The gateway sleeps on Mondays.")
    compared = prompts.compare_moments(house.space, counter, start, None, query="gateway", task="")
    told = {(one.says, one.entry): one.at for one in compared.causes}
    assert told[("expired", None)] == since
    assert told[("was deleted by a person", None)] == since
    assert ("was retired", old.number) in told
    assert told[("was promoted by a-owner", new.number)] == new.created_at
    html = see(tail="compare/", ask="gateway", **{"from": start.isoformat()}).content.decode()
    diff = html[html.index('<table class="diff">') : html.index("</table>")]
    rows = [re.sub(r"<[^>]+>|\s+", " ", row) for row in re.findall(r'<tr class="why">(.*?)</tr>', diff, re.DOTALL)]
    assert [("expired" in row, "was promoted by a-owner" in row) for row in rows if "gateway" in row] == [
        (True, False),
        (False, True),
    ]
    assert diff.count('<tr class="cut">') == 1


def test_the_causes_of_a_change_of_the_guidelines_are_named(see, house):
    start = timezone.now()
    files.write(house.space, house.editor, "/memories/hub-guidelines.md", b"# Ours\n", reason="our own")
    html = see(tail="compare/", **{"from": start.isoformat()}).content.decode()
    assert re.search(r'<tr class="why">.*hub-guidelines\.md.*our own.*</tr>', html, re.DOTALL)


def test_a_space_without_agents_shows_what_a_new_one_gets(as_role, house):
    page = one_line(as_role("viewer").get("/s/books/prompt/"))
    assert "The prompt of a new agent" in page and "# What the team knows" in page


def test_the_navigation_leads_to_the_first_agent(as_role, counter):
    assert as_role("viewer").get("/s/books/prompt/")["Location"] == "/s/books/prompt/counter/"


def test_no_space_sees_the_agents_of_another(as_role, counter):
    other = prompts.create_agent(spaces.create(HUB, "elsewhere"), HUB, "stranger")
    for tail in ("", "raw/", "compare/", "settings/", "deliveries/"):
        assert as_role("owner").get(f"/s/books/prompt/{other.slug}/{tail}").status_code == 404


def test_a_long_prompt_stays_readable(see, house):
    files.write(
        house.space,
        house.editor,
        AGENTS,
        b"- a line of some length, about seventy characters, as notes have it\n" * 5000,
    )
    started = timezone.now()
    answer = see(dialect="deepagents/0.4.3")
    assert len(text_of(answer)) > 5000
    assert timezone.now() - started < timedelta(seconds=3)


# Settings


def save(client, **values):
    form = {"budget": "", "gives_way": "working,longterm,source", "template": "", "memory_is_on": "on", **values}
    return client.post("/s/books/prompt/counter/settings/change/", {k: v for k, v in form.items() if v is not None})


def test_a_very_long_prompt_is_whole_with_few_elements(see, house):
    lines = [f"{n}" for n in range(1, 30_001)]
    lines[20_122] = "hid\u200bden"
    files.write(house.space, house.editor, AGENTS, "\n".join(lines).encode())
    html = see(dialect="deepagents/0.4.3").content.decode()
    agent = prompts.agent_by_slug(house.space, "counter")
    prompt = prompts.assemble(house.space, agent, dialect="deepagents/0.4.3")
    assert "each hundredth line is numbered" in html and html.count(" data-n=") < 10_300
    drawn = re.findall(r'<span id="L(\d+)" data-n="\d+">(.*?)</span>(?=<span id="L|</pre>)', html, re.DOTALL)
    whole = [line for _, text in drawn for line in re.sub(r"<[^>]+>|U\+200B", "", text).split("\n")]
    assert whole == [escape(line).replace("\u200b", "") for line in prompt.text.splitlines()]
    hidden = prompt.text.splitlines().index("hid\u200bden") + 1
    alone = {int(number) for number, text in drawn if "\n" not in text}
    assert {1, 10_000, hidden} <= alone and 12_000 not in alone
    asked = see(dialect="deepagents/0.4.3", line="25055").content.decode()
    assert AGENTS in asked[asked.index('id="origin"') :][:2000]


def test_owners_change_what_shapes_the_prompt(as_role, counter):
    owner = as_role("owner")
    done = save(
        owner, budget="900", gives_way="source,working,longterm", template="<m>{agent_memory}</m>", memory_is_on=None
    )
    assert (done.status_code, done["Location"]) == (303, "/s/books/prompt/counter/")
    counter.refresh_from_db()
    assert (counter.budget, counter.gives_way[0], counter.memory_is_on) == (900, "source", False)
    assert counter.template == "<m>{agent_memory}</m>"
    assert 'value="source,working,longterm" selected' in owner.get("/s/books/prompt/counter/settings/").content.decode()


def test_a_broken_template_is_refused_at_the_door(as_role, counter):
    answer = save(as_role("owner"), template="no slot")
    assert answer.status_code == 422
    assert "exactly once" in answer.content.decode()
    counter.refresh_from_db()
    assert counter.template == ""


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_others_only_look(as_role, counter, role):
    assert as_role(role).get("/s/books/prompt/counter/settings/").status_code == 200
    assert save(as_role(role)).status_code == 403
    assert as_role(role).post("/s/books/prompt/templates/installed/", {"agent": "counter"}).status_code == 403


def test_templates_are_taken_in_for_this_space_and_shown_with_their_hash(as_role, counter, house):
    owner = as_role("owner")
    owner.post("/s/books/prompt/templates/installed/", {"agent": "counter"})
    kept = DialectTemplate.objects.get()
    assert (kept.space_id, kept.is_known) == (house.space.pk, True)
    html = owner.get("/s/books/prompt/counter/settings/").content.decode()
    assert kept.sha256[:16] in html
    assert "the published text" in html
    wrong = SimpleUploadedFile("x.whl", b"no zip")
    done = owner.post("/s/books/prompt/templates/wheel/", {"agent": "counter", "wheel": wrong}, follow=True)
    assert "x.whl is no wheel of deepagents" in done.content.decode()


def test_a_source_without_a_slash_leads_to_its_file_and_its_revision(house, counter, as_role):
    from memoryhub.domain import prompts

    config = prompts.read_configuration('{"memory_files": ["memories/AGENTS.md"]}')
    prompts.take_over_configuration(house.space, HUB, config)
    for page in ("prompt/counter/", "agents/"):
        shown = as_role("viewer").get(f"/s/books/{page}").content.decode()
        assert 'href="/s/books/files/memories/AGENTS.md"' in shown
        assert "filesmemories" not in shown
        assert "memories/AGENTS.md</a>" in shown and ">/memories/AGENTS.md</a>" not in shown
    assert "revision 1</a>" in as_role("viewer").get("/s/books/prompt/counter/").content.decode()
    listed = as_role("owner").get("/s/books/settings/access/").content.decode()
    assert ">memories/AGENTS.md</a>" in listed
