"""Real deepagents agents with a scripted model, on the real hub: edit, wait, approve, see it."""

import asyncio

import pytest
from deepagents import create_deep_agent
from deepagents.backends import CompositeBackend, StateBackend
from deepagents.middleware.memory import MEMORY_SYSTEM_PROMPT
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoryhub.client.deepagents import MemoryHubBackend, MemoryHubMiddleware
from tests.running import statuses

AGENTS = "/memories/AGENTS.md"


class Scripted(GenericFakeChatModel):
    """A model that says what the script says and remembers what it was given."""

    seen: list = []

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, *args, **kwargs):
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)

    @property
    def prompts(self):
        return [messages[0].text if isinstance(messages[0].text, str) else messages[0].text() for messages in self.seen]


def says(*turns):
    return Scripted(
        messages=iter([turn if isinstance(turn, AIMessage) else AIMessage(turn) for turn in turns]), seen=[]
    )


def calls(*tools):
    return AIMessage("", tool_calls=[{"name": n, "args": a, "id": f"call-{i}"} for i, (n, a) in enumerate(tools)])


def edits(old, new, path=AGENTS):
    return ("edit_file", {"file_path": path, "old_string": old, "new_string": new})


def agent_of(real, model, **options):
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(real.hub)})
    return create_deep_agent(model, backend=backend, middleware=[MemoryHubMiddleware(real.hub)], **options)


def ask(agent, text="go", thread=None):
    config = {"configurable": {"thread_id": thread}} if thread else {}
    return agent.invoke({"messages": [("user", text)]}, config)


def tool_answers(result):
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def test_the_whole_story(review):
    review.put(AGENTS, "Be brief.\n")
    model = says(calls(edits("brief", "kind")), "noted", "again", "once more")
    agent = agent_of(review, model, checkpointer=InMemorySaver())

    (answer,) = tool_answers(ask(agent, thread="t-1"))
    assert answer.status == "success"
    assert "proposal 1" in answer.content
    assert "do not retry" in answer.content
    assert AGENTS in answer.content
    assert review.text() == "Be brief.\n"
    (proposal,) = review.hub.proposals()
    assert (proposal.state, proposal.agent) == ("pending", "forge")

    review.approve(1)
    assert review.hub.proposal(1).wait(5).state == "approved"
    ask(agent, thread="t-1")  # the same thread
    ask(agent, thread="t-2")
    assert "Be brief." in model.prompts[0]
    assert "Be kind." in model.prompts[-2]
    assert "Be kind." in model.prompts[-1]


def test_the_preview_of_the_hub_is_what_the_model_gets(review):
    review.put(AGENTS, "One.<!-- note -->\n\nTwo {braces}.\n")
    model = says("hello")
    ask(agent_of(review, model, system_prompt="Base."), thread="t-9")
    expected = MEMORY_SYSTEM_PROMPT.format(agent_memory=f"{AGENTS}\n\nOne.\n\nTwo {{braces}}.")
    fragment = review.hub.prompt_details(thread="t-9").fragment
    assert fragment == expected
    assert model.prompts[0].endswith("\n\n" + expected)
    review.agent.refresh_from_db()
    assert review.agent.reported["library"] == "deepagents"


def test_what_was_delivered_to_which_thread_is_known(review):
    from memoryhub.models import Delivery

    review.put(AGENTS, "Be brief.\n")
    ask(agent_of(review, says("hello"), checkpointer=InMemorySaver()), thread="t-7")
    delivery = Delivery.objects.get(thread_id="t-7")
    assert delivery.agent_id == review.agent.pk
    assert delivery.revisions == {AGENTS: 1}


def test_the_proposal_knows_thread_and_tool_call(review):
    from memoryhub.models import Proposal

    review.put(AGENTS, "Be brief.\n")
    ask(agent_of(review, says(calls(edits("brief", "kind")), "ok"), checkpointer=InMemorySaver()), thread="t-3")
    proposal = Proposal.objects.get()
    assert (proposal.thread_id, proposal.tool_call_id, proposal.reason) == ("t-3", "call-0", "")


def test_what_the_model_says_beside_a_call_is_the_reason(review):
    review.put(AGENTS, "Be brief.\n")
    why = "The user asked twice\nfor kinder answers."
    model = says(calls(edits("brief", "kind")).model_copy(update={"content": why}), calls(edits("Be", "Stay")), "ok")
    ask(agent_of(review, model))
    assert [one.reason for one in review.hub.proposals()] == ["", "The user asked twice for kinder answers."]


def test_the_same_edit_again_is_the_same_proposal(review):
    review.put(AGENTS, "Be brief.\n")
    model = says(calls(edits("brief", "kind")), calls(edits("brief", "kind")), "ok")
    answers = tool_answers(ask(agent_of(review, model)))
    assert answers[0].content == answers[1].content
    assert len(review.hub.proposals()) == 1


def test_two_edits_of_one_turn_stack(review):
    review.put(AGENTS, "Be brief.\n")
    review.put("/memories/tone.md", "Dry.\n")
    model = says(
        calls(edits("brief", "kind"), edits("Dry", "Warm", "/memories/tone.md")), calls(edits("kind", "calm")), "ok"
    )
    answers = tool_answers(ask(agent_of(review, model)))
    assert [answer.status for answer in answers] == ["success"] * 3
    numbers = {proposal.number: proposal for proposal in review.hub.proposals()}
    below = min(n for n, p in numbers.items() if p.path == AGENTS)
    assert numbers[3].stacked_on == below
    assert f"builds on your proposal {below} " in answers[2].content and "builds on" not in answers[0].content


def test_parallel_agents_lose_nothing(trusted):
    trusted.put(AGENTS, "".join(f"line {n}\n" for n in range(8)))

    async def one(n):
        model = says(calls(edits(f"line {n}\n", f"LINE {n}\n")), "ok")
        return await agent_of(trusted, model).ainvoke({"messages": [("user", "go")]})

    async def all_of_them():
        return await asyncio.gather(*(one(n) for n in range(8)))

    results = asyncio.run(all_of_them())
    assert all(tool_answers(result)[0].status == "success" for result in results)
    assert trusted.text() == "".join(f"LINE {n}\n" for n in range(8))


def test_errors_of_edits_reach_the_model_in_the_words_it_knows(review):
    review.put(AGENTS, "a a\nlast")
    review.put("/memories/notepad.md", "- one\r\n- two\r\n")
    tries = [
        edits("b", "c"),
        edits("a", "c"),
        edits("x", "y", "/memories/none.md"),
        edits("", "c"),
        edits("last\n", "c"),
        edits("- one\n- two", "c", "/memories/notepad.md"),
    ]
    model = says(*[calls(one) for one in tries], "ok")
    texts = [answer.content for answer in tool_answers(ask(agent_of(review, model)))]
    assert texts[0] == "Error: String not found in file: 'b'"
    assert texts[1] == (
        "Error: String 'a' appears 3 times in file. Use replace_all=True to replace all instances, or provide a more "
        "specific string with surrounding context."
    )
    assert texts[2] == "Error: File '/none.md' not found"
    assert texts[3] == "Error: old_string cannot be empty. Provide the exact text to replace."
    assert "does not end with a newline" in texts[4]
    assert texts[5].endswith("The lines of this file end in CR LF: write them as \\r\\n and try again.")
    assert review.hub.proposals() == []


def test_read_only_and_secrets_are_said_and_nothing_is_kept(review):
    from memoryhub.domain import files
    from memoryhub.models import HUB

    files.add_mount(review.space, HUB, "/memories/law/", store="database", policy="read_only")
    review.put(AGENTS, "Be brief.\n")
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
    secret = {"file_path": "/memories/keys.md", "content": f"aws_access_key_id = {key}\n"}
    law = {"file_path": "/memories/law/a.md", "content": "x"}
    model = says(calls(("write_file", law)), calls(("write_file", secret)), "ok")
    first, second = tool_answers(ask(agent_of(review, model)))
    assert first.status == second.status == "error"
    assert "read-only" in first.content
    assert "secret" in second.content
    assert key not in second.content
    assert review.hub.proposals() == []


def test_sub_agents_pass_the_same_gate(review):
    review.put(AGENTS, "Be brief.\n")
    inner = says(calls(edits("brief", "kind")), "changed it")
    outer = says(calls(("task", {"description": "change it", "subagent_type": "editor"})), "done")
    editor = {
        "name": "editor",
        "description": "edits",
        "system_prompt": "You edit.",
        "model": inner,
        "middleware": [MemoryHubMiddleware(review.hub)],
    }
    ask(agent_of(review, outer, subagents=[editor]))
    assert "Be brief." in inner.prompts[0]
    (proposal,) = review.hub.proposals()
    assert proposal.state == "pending"
    said = [message for message in inner.seen[1] if isinstance(message, ToolMessage)]
    assert (said[0].status, "do not retry" in said[0].content) == ("success", True)


def test_hub_killed_in_the_middle(review, cache_dir):
    """Reads come from the last good copy, writes say so, searches give nothing, the run goes on."""
    from tests.client.conftest import away

    review.put(AGENTS, "Be brief.\n")
    agent_model = says("hello")
    ask(agent_of(review, agent_model))
    backend = MemoryHubBackend(review.hub)
    assert backend.download_files(["/AGENTS.md"])[0].content == b"Be brief.\n"
    with away(review.hub):
        model = says(
            calls(("read_file", {"file_path": AGENTS}), ("grep", {"pattern": "brief"}), edits("brief", "kind")), "ok"
        )
        answers = tool_answers(ask(agent_of(review, model)))
        assert "Be brief." in model.prompts[0]
        assert "Be brief." in answers[0].content
        assert answers[1].status == "success"
        assert "cannot be reached" in answers[2].content
        assert backend.download_files(["/AGENTS.md", "/new.md"])[1].error == "file_not_found"
        assert backend.glob("*.md").matches == backend.grep("x").matches == []


def test_a_revoked_token_costs_the_memory_not_the_run(review):
    from memoryhub.domain import accounts
    from memoryhub.models import HUB, Token

    review.put(AGENTS, "Be brief.\n")
    ask(agent_of(review, says("hello")))
    accounts.revoke_token(Token.objects.get(agent=review.agent), HUB)
    model = says(calls(edits("brief", "kind")), "ok")
    (answer,) = tool_answers(ask(agent_of(review, model)))
    assert "(No memory loaded)" in model.prompts[0]
    assert "does not accept this token" in answer.content
    assert review.token not in answer.content


def test_the_root_is_never_deleted(trusted):
    trusted.put(AGENTS, "Be brief.\n")
    backend = MemoryHubBackend(trusted.hub)
    composite = CompositeBackend(default=StateBackend(), routes={"/memories/": backend})
    for result in (
        backend.delete("/"),
        composite.delete("/memories"),
        composite.delete("/memories/"),
        backend.delete("//"),
    ):
        assert "never deleted" in result.error
    assert trusted.text() == "Be brief.\n"


def test_a_directory_is_deleted_file_by_file(either):
    for name in ("a/one.md", "a/two.md", "a/b/three.md", "keep.md"):
        either.put(f"/memories/{name}", "x")
    backend = MemoryHubBackend(either.hub)
    assert backend.delete("/a").path == "/a"
    assert [entry["path"] for entry in either.hub.walk("/memories/")] == ["/memories/keep.md"]
    assert backend.delete("/a").error == "Error: File '/a' not found"


def test_upload_passes_the_same_gate(review):
    backend = MemoryHubBackend(review.hub)
    pending, bad, relative = backend.upload_files([("/a.md", b"text"), ("/../b.md", b"x"), ("c.md", b"x")])
    assert "proposal 1" in pending.error
    assert (bad.error, relative.error) == ("invalid_path", "invalid_path")


def test_thread_files_belong_to_their_thread(review):
    backend = CompositeBackend(
        default=StateBackend(),
        routes={"/memories/": MemoryHubBackend(review.hub), "/thread/": MemoryHubBackend(review.hub, mount="/thread/")},
    )
    note = {"file_path": "/thread/note.md", "content": "mine"}
    read = ("read_file", {"file_path": "/thread/note.md"})
    model = says(calls(("write_file", note)), "ok", calls(read), "ok", calls(read), "ok")
    agent = create_deep_agent(
        model, backend=backend, middleware=[MemoryHubMiddleware(review.hub)], checkpointer=InMemorySaver()
    )
    ask(agent, thread="t-1")
    assert "mine" in tool_answers(ask(agent, thread="t-1"))[-1].content
    assert "not found" in tool_answers(ask(agent, thread="t-2"))[-1].content


def test_sources_of_ones_own_are_read_with_the_librarys_rule(review):
    review.put(AGENTS, "Be brief.\n")
    review.put("/memories/tone.md", "Dry.<!-- x -->\n")
    model = says("hello")
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(review.hub)})
    middleware = MemoryHubMiddleware(
        review.hub, backend=backend, sources=["/memories/tone.md", AGENTS, "/memories/no.md"]
    )
    ask(create_deep_agent(model, backend=backend, middleware=[middleware]))
    assert f"/memories/tone.md\n\nDry.\n\n{AGENTS}\n\nBe brief." in model.prompts[0]


def test_it_takes_the_place_of_the_stock_middleware(review):
    review.put(AGENTS, "Be brief.\n")
    model = says("hello")
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(review.hub)})
    agent = create_deep_agent(model, backend=backend, memory=[AGENTS], middleware=[MemoryHubMiddleware(review.hub)])
    ask(agent)
    assert model.prompts[0].count("Be brief.") == 1


def test_the_stock_middleware_works_on_the_backend_alone(review):
    review.put(AGENTS, b"Be \xff brief.\n")
    model = says("hello")
    backend = CompositeBackend(default=StateBackend(), routes={"/memories/": MemoryHubBackend(review.hub)})
    ask(create_deep_agent(model, backend=backend, memory=[AGENTS, "/memories/none.md"]))
    assert "Be \ufffd brief." in model.prompts[0]


def test_backends_are_hashable_and_every_twin_is_there(review):
    backend = MemoryHubBackend(review.hub)
    assert {backend: 1}[backend] == 1
    review.put(AGENTS, "Be brief.\n")

    async def twins():
        return (
            (await backend.als("/")).entries,
            (await backend.aread("/AGENTS.md")).file_data["content"],
            (await backend.agrep("brief")).matches,
            (await backend.aglob("*.md")).matches,
            (await backend.adownload_files(["/AGENTS.md"]))[0].content,
        )

    entries, text, matches, found, content = asyncio.run(twins())
    assert [entry["path"] for entry in entries] == ["/AGENTS.md"]
    assert text.strip() == "Be brief."
    assert matches == [{"path": "/AGENTS.md", "line": 1, "text": "Be brief."}]
    assert [entry["path"] for entry in found] == ["/AGENTS.md"]
    assert content == b"Be brief.\n"


def test_ten_sources_are_one_request_and_a_304_when_unchanged(review):
    paths = [f"/s{n}.md" for n in range(10)]
    for path in paths:
        review.put(f"/memories{path}", path)
    backend = MemoryHubBackend(review.hub)
    answers = statuses(review.hub)
    assert [file.content.decode() for file in backend.download_files(paths)] == paths
    assert [file.content.decode() for file in backend.download_files(paths)] == paths
    assert answers == [200, 304]


@pytest.mark.parametrize("broken", [TypeError("x"), KeyError("y")])
def test_even_our_own_mistakes_do_not_reach_the_agent(review, monkeypatch, broken):
    backend = MemoryHubBackend(review.hub)

    def fails(*args, **kwargs):
        raise broken

    monkeypatch.setattr(review.hub, "_send", fails)
    assert backend.read("/a.md").error
    assert backend.write("/a.md", "x").error
    assert backend.edit("/a.md", "a", "b").error
    assert backend.delete("/a.md").error
    assert backend.ls("/").error
    assert backend.grep("x").matches == []
    assert backend.download_files(["/a.md"])[0].error == "file_not_found"
    assert backend.upload_files([("/a.md", b"x")])[0].error


def test_megabytes_are_kept_in_parts_where_nobody_reviews(trusted):
    text = "".join(f"{number}: grüße\n" for number in range(150_000))
    backend = MemoryHubBackend(trusted.hub)
    assert backend.write("/big.txt", text).path == "/big.txt"
    assert backend.download_files(["/big.txt"])[0].content.decode() == text
    assert backend.read("/big.txt", offset=149_999).file_data["content"] == "149999: grüße\n"
    assert trusted.text("/memories/big.txt").startswith("Kept in 3 parts in /memories/big.txt.parts/")
    assert backend.write("/big.txt", "small again").error is None
    assert backend.read("/big.txt").file_data["content"] == "small again"
    assert backend.delete("/big.txt").error is None
    assert trusted.hub.walk("/memories/") == []


def test_megabytes_are_refused_where_a_person_would_have_to_review_them(review):
    backend = MemoryHubBackend(review.hub)
    assert "more than a person can review" in backend.write("/big.txt", "x" * 1_100_000).error
    assert "more than a person can review" in backend.upload_files([("/big.bin", b"\xff" * 1_100_000)])[0].error
    assert review.hub.proposals("pending") == []
    assert "more than the hub keeps" in backend.upload_files([("/huge.bin", b"\xff" * (65 * 1024 * 1024))])[0].error


def test_an_upload_onto_a_folder_has_the_code_of_the_protocol(trusted):
    backend = MemoryHubBackend(trusted.hub)
    backend.write("/folder/a.md", "x")
    assert [one.error for one in backend.upload_files([("/folder", b"x")])] == ["is_directory"]
