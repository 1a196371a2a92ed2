"""What a page weighs as it goes over the wire, from a hub as `memoryhub up` starts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from tests.running import Hub, copied, running_in, sign_in_by_link

HTMX_TIMES = 2.2
EVERYWHERE = {"hub.js"}
PAGES = {
    "overview": "", "files": "files/", "a file": "files/memories/AGENTS.md", "proposals": "proposals/", "a proposal": "proposals/1/",
    "prompt": "prompt/counter/", "activity": "activity/", "agents": "agents/", "settings": "settings/", "long-term": "longterm/",
}  # fmt: skip


@pytest.fixture(scope="module")
def served(started_once: Path) -> Iterator[Hub]:
    with copied(started_once) as data_dir, running_in(data_dir, "--demo", "--workers", "1") as hub:
        yield hub


@pytest.fixture(scope="module")
def client(served: Hub) -> Iterator[httpx.Client]:
    accepts = {"Accept-Encoding": "br, gzip"}
    with httpx.Client(base_url=served.url, follow_redirects=True, timeout=30, headers=accepts) as client:
        answer = sign_in_by_link(client, served.link)
        assert answer.status_code == 200 and answer.url.path == "/s/demo/"
        yield client


def loads(page: str) -> list[str]:
    """What a browser fetches for a page: styles, scripts, images."""
    tags = re.findall(r"<(?:link|script|img)\b[^>]*>", page)
    found = [re.search(r'(?:href|src)="([^"]+)"', tag) for tag in tags if 'media="print"' not in tag]
    return list(dict.fromkeys(one[1] for one in found if one))


def weight(client: httpx.Client, path: str) -> int:
    """Bytes as sent; httpx counts them before it unpacks. Styles and scripts are the same in every language."""
    answer = client.get(path)
    assert answer.status_code == 200, path
    return answer.num_bytes_downloaded


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_overview_and_all_it_loads_weigh_little(client, language):
    page = client.get("/s/demo/", headers={"Accept-Language": language})
    assert f'<html lang="{"en" if language == "en" else "zh-hans"}"' in page.text.lower()
    parts = {path: weight(client, path) for path in loads(page.text)}
    htmx = next(size for path, size in parts.items() if "htmx" in path)
    whole = page.num_bytes_downloaded + sum(parts.values())
    told = ", ".join(f"{path} {size}" for path, size in parts.items())
    assert whole < HTMX_TIMES * htmx, (
        f"{whole} bytes, {whole / htmx:.2f} times htmx: page {page.num_bytes_downloaded}, {told}"
    )
    assert whole < 36_864


def test_a_proxy_that_knows_only_gzip_sends_little_as_well(served, client):
    """The limit of the overview, for the older way of squeezing."""
    with httpx.Client(
        base_url=served.url, timeout=30, headers={"Accept-Encoding": "gzip"}, cookies=client.cookies
    ) as old:
        page = old.get("/s/demo/")
        parts = {path: weight(old, path) for path in loads(page.text)}
    htmx = next(size for path, size in parts.items() if "htmx" in path)
    assert page.num_bytes_downloaded + sum(parts.values()) < HTMX_TIMES * htmx, parts


def test_our_own_comments_stay_at_home(client):
    ours = [path for path in loads(client.get("/s/demo/").text) if path.startswith(("/static/css/", "/static/js/"))]
    texts = {path: client.get(path).text for path in ours}
    assert len(texts) == 4 and all(len(text) > 1000 for text in texts.values())
    assert not [path for path, text in texts.items() if "/*" in text or "\n  //" in text or text.startswith("//")]


def test_everything_is_really_compressed(client):
    for path in [
        "/s/demo/",
        "/s/demo/activity/",
        "/login/",
        "/api/v1/openapi.json",
        *loads(client.get("/s/demo/").text),
    ]:
        answer = client.get(path)
        assert answer.headers.get("Content-Encoding") in ("br", "gzip"), path
        if "/static/" in path:
            assert answer.headers["Content-Encoding"] == "br", path
        assert answer.num_bytes_downloaded < len(answer.content) * 0.75, path


def test_static_files_are_kept_by_the_browser_for_good(client):
    """Their names change with their content."""
    for path in loads(client.get("/s/demo/").text):
        assert re.search(r"\.[0-9a-f]{8,}\.", path), f"{path} is not named by its content"
        assert "immutable" in client.get(path).headers["Cache-Control"], path


def test_scripts_of_single_pages_are_loaded_only_there(client):
    plain = {name_of(path) for path in loads(client.get("/login/").text) if path.endswith(".js")}
    assert not {name for name in plain if name not in EVERYWHERE and "htmx" not in name}
    wanted: dict[str, set[str]] = {}
    for name, path in PAGES.items():
        for script in loads(client.get(f"/s/demo/{path}").text):
            if script.endswith(".js") and "htmx" not in script:
                wanted.setdefault(name_of(script), set()).add(name)
    for script, pages in wanted.items():
        if script in EVERYWHERE:
            assert pages == set(PAGES), script
        else:
            assert len(pages) <= 3, f"{script} is loaded by {sorted(pages)}"


def name_of(path: str) -> str:
    return re.sub(r"\.[0-9a-f]{8,}(?=\.)", "", path.rpartition("/")[2])


@pytest.mark.sampled(4)  # test_every_page.py measures it on every page, on a quick machine
@pytest.mark.parametrize("page", PAGES)
def test_nothing_shifts_while_a_page_loads(browser: Browser, served: Hub, client, page):
    """From an empty cache, with the clock slowed as on a phone."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, base_url=served.url)
    context.add_cookies([{"name": name, "value": value, "url": served.url} for name, value in client.cookies.items()])
    window = context.new_page()
    window.add_init_script(
        "window.shift = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries())"
        " if (!entry.hadRecentInput) window.shift += entry.value; }).observe({type: 'layout-shift', buffered: true});"
    )
    context.new_cdp_session(window).send("Emulation.setCPUThrottlingRate", {"rate": 4})
    window.goto(f"/s/demo/{PAGES[page]}", wait_until="networkidle")
    assert window.evaluate("window.shift") < 0.01
    context.close()
