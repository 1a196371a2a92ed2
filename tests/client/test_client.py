"""The Python client on good days: what it sends and what it gives back."""

import asyncio
import json
import os
import subprocess
import sys
from itertools import pairwise

import pytest

from memoryhub.client import AsyncMemoryHub, HubUnavailable, Invalid, MemoryHub, base

FILE = {
    "path": "/memories/AGENTS.md",
    "content": "Be brief.\n",
    "encoding": "utf-8",
    "sha256": "ab",
    "revision": 3,
    "created_at": "2026-01-01T00:00:00Z",
    "modified_at": "2026-01-01T00:00:00Z",
}
PROPOSAL = {"number": 7, "state": "pending", "path": "/memories/AGENTS.md", "diff": "", "reason": "why"}


def test_read_is_text_that_knows_where_it_comes_from(server, hub):
    server.json(FILE, ETag='"ab"')
    text = hub.read("/memories/AGENTS.md")
    assert text == "Be brief.\n"
    assert (text.revision, text.sha256, text.stale, text.data) == (3, "ab", False, b"Be brief.\n")
    asked = server.asked[0]
    assert asked.path == "/api/v1/files/memories/AGENTS.md"
    assert asked.headers["Authorization"] == "Bearer mh_secret-token"
    assert asked.headers["Accept"] == "application/json"


def test_second_read_asks_conditionally_and_uses_the_kept_body(server, hub):
    server.json(FILE, ETag='"ab"').raw(b"", 304, ETag='"ab"')
    assert hub.read("/memories/AGENTS.md") == hub.read("/memories/AGENTS.md") == "Be brief.\n"
    assert server.asked[1].headers["If-None-Match"] == '"ab"'


def test_a_new_process_uses_the_copy_on_disk(server, hub, cache_dir):
    server.json(FILE, ETag='"ab"').raw(b"", 304)
    hub.read("/memories/AGENTS.md")
    with MemoryHub(server.url, "mh_secret-token", cache_dir=cache_dir) as other:
        assert other.read("/memories/AGENTS.md") == "Be brief.\n"
    with MemoryHub(server.url, "mh_other", cache_dir=cache_dir) as stranger:
        server.answers.clear()
        server.json(FILE, ETag='"ab"')
        stranger.read("/memories/AGENTS.md")
    assert "If-None-Match" not in server.asked[-1].headers


def test_names_with_odd_characters_reach_the_hub_whole(server, hub):
    server.json({**FILE, "path": "/memories/a b%2F#?é.md"})
    hub.read("/memories/a b%2F#?é.md")
    assert server.asked[0].path == "/api/v1/files/memories/a%20b%252F%23%3F%C3%A9.md"


@pytest.mark.parametrize("path", ["/memories/../secret", "..", "/a/./b", "/a\\..\\b", "/a\x00b"])
def test_dot_segments_never_become_another_address(server, hub, path):
    with pytest.raises(Invalid) as refused:
        hub.read(path)
    assert refused.value.code == "invalid_path"
    assert server.asked == []


def test_write_sends_the_reason_and_returns_a_proposal(server, hub):
    server.json({"status": "pending", "proposal": PROPOSAL}, 202)
    outcome = hub.write("/memories/AGENTS.md", "New.\n", reason="asked", thread_id="t1")
    assert outcome.pending
    assert not outcome.applied
    assert outcome.proposal.number == outcome["proposal"]["number"] == 7
    assert "proposal 7" in outcome.message
    assert "do not retry" in outcome.message
    assert server.asked[0].method == "PUT"
    assert server.asked[0].json() == {"content": "New.\n", "reason": "asked", "thread_id": "t1"}


def test_bytes_that_are_no_text_travel_as_base64(server, hub):
    server.json({"status": "applied", "revision": 1}, 201)
    assert hub.write("/memories/a.bin", b"\xff\x00").applied
    assert server.asked[0].json() == {"content": "/wA=", "encoding": "base64"}
    hub.write("/memories/a.md", b"text\x00")
    assert server.asked[1].json()["encoding"] == "base64"


def test_edit_and_if_match(server, hub):
    server.json({"status": "applied", "revision": 2})
    hub.edit("/memories/AGENTS.md", "a", "b", replace_all=True)
    assert server.asked[0].json() == {
        "path": "/memories/AGENTS.md",
        "old_string": "a",
        "new_string": "b",
        "replace_all": True,
    }
    hub.write("/memories/AGENTS.md", "x", if_match="ab")
    assert server.asked[1].headers["If-Match"] == '"ab"'


def test_prompt_is_the_exact_text(server, hub):
    server.raw("Zeile\r\nä".encode(), ETag='"sha256-1"').raw(b"", 304)
    prompt = hub.prompt(query="q", thread="t")
    assert prompt == "Zeile\r\nä"
    assert len(prompt.sha256) == 64
    assert server.asked[0].path == "/api/v1/prompt?query=q&thread=t"
    assert server.asked[0].headers["Accept"] == "text/plain"
    assert hub.prompt(query="q", thread="t") == prompt
    assert server.asked[1].headers["If-None-Match"] == '"sha256-1"'


def test_a_prompt_has_its_warnings_those_of_a_304_included(server, hub):
    server.raw(b"text", ETag='"1"', Memoryhub_Warnings='secret_like;path="/memories/%C3%BC%22%2C.md", over_budget')
    server.raw(b"", 304).raw(b"", 304, Memoryhub_Warnings='cut;path="/a.md"').raw(b"text", ETag='"1"')
    assert hub.prompt().warnings == [
        {"code": "secret_like", "path": '/memories/ü",.md'}, {"code": "over_budget", "path": None},
    ]  # fmt: skip
    assert hub.prompt().warnings == []
    assert [(one.code, one.path) for one in hub.prompt().warnings] == [("cut", "/a.md")]
    assert hub.prompt()["warnings"] == []


def test_a_base_prompt_or_a_long_query_is_posted(server, hub):
    server.raw(b"text")
    hub.prompt(system_prompt="Base.")
    hub.prompt(query="long " * 1000)
    assert [asked.method for asked in server.asked] == ["POST", "POST"]
    assert server.asked[0].json() == {"system_prompt": "Base."}


def test_waiting_for_a_proposal_polls_with_etags(server, hub):
    server.json(PROPOSAL, ETag='"1"').raw(b"", 304).raw(b"", 304)
    server.json({**PROPOSAL, "state": "approved", "applied_revision": 4}, ETag='"2"')
    proposal = hub.proposal(7).wait(10)
    assert (proposal.state, proposal.applied_revision) == ("approved", 4)
    assert server.asked[1].headers["If-None-Match"] == '"1"'


def test_waiting_ends_with_the_time(server, hub):
    server.json(PROPOSAL, ETag='"1"').raw(b"", 304)
    assert hub.proposal(7).wait(0.2).state == "pending"


def test_the_longer_one_waits_the_seldomer_one_asks(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(base.time, "monotonic", lambda: clock[0])
    asked = []
    for pause in base.paused_waits(3600):
        asked.append(clock[0])
        clock[0] += pause + 1e-6
    gaps = [later - before for before, later in pairwise(asked)]
    assert len([at for at in asked if at <= 2]) >= 10, "a quick decision is heard of quickly"
    late = [(at, gap) for at, gap in zip(asked, gaps, strict=False) if at > 2]
    assert all(gap <= at * 0.31 for at, gap in late), "nobody waits much longer than they waited"
    assert max(gaps) <= 1.2 * base.MAX_PAUSE + 1
    assert len(asked) < 3600 / base.MAX_PAUSE * 1.3 + 60
    assert len({round(gap, 3) for gap in gaps[-20:]}) > 10, "agents that began together do not ask together"
    assert asked[-1] == pytest.approx(3600, abs=0.1)


def test_log_and_retrieve(server, hub):
    server.json({"id": 1, "state": "admitted", "findings": [], "working_id": 5}, 201)
    server.json({"items": [{"content": "c", "source": "hot", "score": 1.0, "id": 1}]})
    assert hub.log("output", session_id="s", node_id="n", metadata={"a": 1}).state == "admitted"
    assert server.asked[0].json()["metadata"] == {"a": 1}
    assert hub.retrieve("q", hot=3)[0].content == "c"
    assert server.asked[1].path == "/api/v1/retrieve?query=q&hot=3"


def test_a_query_too_long_for_an_address_is_refused_here(server, hub):
    for ask in (hub.retrieve, hub.retrieve_text, hub.search):
        with pytest.raises(Invalid, match="too long"):
            ask("refund " * 15_000)
    assert not server.asked


def test_a_query_of_half_a_character_and_a_header_of_two_lines_are_refused_here(server, hub):
    with pytest.raises(Invalid, match="lone surrogate"):
        hub.search("\ud800")
    with pytest.raises(Invalid, match="control character"):
        hub.write("/memories/a.md", "x", if_match="x\r\nEvil: 1")
    assert not server.asked


def test_metadata_that_is_no_json_is_refused_here(server, hub):
    from memoryhub.client import HubRefused

    with pytest.raises(HubRefused):
        hub.log("x", metadata={"n": float("nan")})


def test_from_env(monkeypatch):
    monkeypatch.setenv("MEMORYHUB_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("MEMORYHUB_TOKEN", raising=False)
    with pytest.raises(ValueError, match="MEMORYHUB_TOKEN"):
        MemoryHub.from_env()
    monkeypatch.setenv("MEMORYHUB_TOKEN", "mh_x")
    assert MemoryHub.from_env().url == "http://127.0.0.1:1"


def test_the_async_client_speaks_the_same(server, cache_dir):
    server.json(FILE, ETag='"ab"').raw(b"", 304)
    server.json({"status": "pending", "proposal": PROPOSAL}, 202).json({**PROPOSAL, "state": "rejected", "note": "no"})

    async def story():
        async with AsyncMemoryHub(server.url, "mh_x", cache_dir=cache_dir) as hub:
            assert await hub.read("/memories/AGENTS.md") == await hub.read("/memories/AGENTS.md")
            outcome = await hub.edit("/memories/AGENTS.md", "a", "b")
            return await outcome.proposal.wait(5)

    decided = asyncio.run(story())
    assert (decided.state, decided.note) == ("rejected", "no")


def test_connections_are_reused(server, hub):
    ports = set()

    def answer(handler, asked):
        ports.add(handler.client_address)
        body = json.dumps({"items": []}).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    server.next(answer)
    for _ in range(5):
        hub.working()
    assert len(ports) == 1


@pytest.mark.parametrize("named", ["http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["", "http://"])
def test_a_proxy_of_the_environment_is_asked(server, cache_dir, monkeypatch, no_proxies, named, scheme):
    monkeypatch.setenv(named, scheme + server.url.removeprefix("http://"))
    server.json({"items": []})
    with MemoryHub("http://hub.example:8000", "mh_x", cache_dir=cache_dir) as hub:
        hub.working()

    async def story():
        async with AsyncMemoryHub("http://hub.example:8000", "mh_x", cache_dir=cache_dir) as hub:
            await hub.working()

    asyncio.run(story())
    assert [asked.path for asked in server.asked] == ["http://hub.example:8000/api/v1/working?limit=10"] * 2
    assert {asked.headers["Host"] for asked in server.asked} == {"hub.example:8000"}


def test_a_hub_that_needs_no_proxy_is_asked_itself(server, cache_dir, monkeypatch, no_proxies):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "localhost,127.0.0.1")
    server.json({"items": []})
    with MemoryHub(server.url, "mh_x", cache_dir=cache_dir, retries=0) as hub:
        assert hub.working() == []
    assert server.asked[0].path == "/api/v1/working?limit=10"


@pytest.fixture
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_files_are_private_and_bounded(server, cache_dir):
    from memoryhub.client.cache import Cache

    cache = Cache("http://h", "mh_x", cache_dir, max_bytes=10_000)
    for number in range(60):
        cache.put(f"k{number}", b"x" * 1000)
    sizes = [entry.stat() for entry in cache.folder.iterdir()]
    assert sum(info.st_size for info in sizes) < 70_000
    cache._prune()
    assert sum(entry.stat().st_size for entry in cache.folder.iterdir()) <= 10_000
    assert {info.st_mode & 0o777 for info in sizes} == {0o600}
    assert cache.folder.stat().st_mode & 0o777 == 0o700


def test_a_damaged_copy_counts_as_none(cache_dir):
    from memoryhub.client.cache import Cache

    cache = Cache("http://h", "mh_x", cache_dir)
    cache.put("k", b"whole body")
    file = next(cache.folder.iterdir())
    file.write_bytes(file.read_bytes()[:-3])
    assert cache.get("k") is None
    file.write_bytes(b"\xff\xfe not ours")
    assert cache.get("k") is None


def test_an_unusable_cache_directory_only_means_no_copies(server, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    server.json(FILE, ETag='"ab"')
    with MemoryHub(server.url, "mh_x", cache_dir=blocked) as hub:
        assert hub.read("/memories/AGENTS.md") == "Be brief.\n"
    server.close()
    with pytest.raises(HubUnavailable):
        hub_away(server.url, blocked).read("/memories/AGENTS.md")


def hub_away(url, cache_dir):
    return MemoryHub(url, "mh_x", cache_dir=cache_dir, retries=0, timeout=1)


def test_importing_the_client_loads_no_django_and_needs_no_home():
    code = (
        "import sys; from memoryhub.client import MemoryHub; "
        "hub = MemoryHub('http://127.0.0.1:1', 'mh_x'); "
        "assert not [name for name in sys.modules if name.split('.')[0] in ('django', 'ninja', 'psycopg')]; "
        "assert {name for name in sys.modules if name.startswith('memoryhub.')} <= "
        "{name for name in sys.modules if name.startswith('memoryhub.client')}"
    )
    env = {name: value for name, value in os.environ.items() if name == "PATH"}
    subprocess.run([sys.executable, "-c", code], check=True, env=env, timeout=60)
