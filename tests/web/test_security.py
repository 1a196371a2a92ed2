"""What a browser is told, what is refused before anything is read, and what never leaves the hub."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils.html import strip_tags

from memoryhub.domain import accounts, files, longterm, prompts, spaces
from memoryhub.errors import Forbidden, HubError, Invalid
from memoryhub.models import HUB, Actor
from memoryhub.requests import KNOWN, HideTokens, hide_secrets
from tests import walking
from tests.api.calling import Caller
from tests.running import refused, script
from tests.web.test_links import get_with

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
STRICT = {
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "font-src 'self'", "connect-src 'self'",
    "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'", "manifest-src 'self'",
}  # fmt: skip


@pytest.fixture
def owner(as_role):
    client = as_role("owner")
    session = client.session
    session["signed_in_at"] = time.time()  # as a person who signed in just now
    session.save()
    return client


@pytest.fixture
def secret(house):
    agent = prompts.create_agent(house.space, house.owner, "forge")
    return accounts.create_token(house.space, house.owner, agent=agent)[1]


# ---- what every answer carries ----

ANSWERS = [
    "/s/books/",
    "/login/",
    "/s/books/none/",
    "/s/elsewhere/",
    "/api/v1/me",
    "/api/none",
    "/static/css/base.css",
    "/healthz",
]


@pytest.mark.parametrize("path", ANSWERS)
def test_every_answer_carries_the_strict_policy(owner, path):
    headers = owner.get(path).headers
    assert set(headers["Content-Security-Policy"].split("; ")) == STRICT
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in headers["Permissions-Policy"]


def test_the_page_that_tries_the_api_out_may_draw_data_images_and_nothing_more(client, db):
    policy = set(client.get("/api/v1/docs").headers["Content-Security-Policy"].split("; "))
    assert policy ^ STRICT == {"img-src 'self'", "img-src 'self' data:"}


@pytest.mark.parametrize("path", ["/s/books/", "/login/", "/api/v1/me", "/api/v1/openapi.json", "/healthz"])
@pytest.mark.parametrize("method", ["get", "options"])
def test_pages_of_other_origins_are_given_nothing_to_read(owner, path, method):
    asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    answer = getattr(owner, method)(path, headers=asked)
    assert [name for name in answer.headers if name.lower().startswith("access-control")] == []


@pytest.mark.parametrize("path", ["/s/books/", "/s/books/none/", "/account/", "/login/", "/api/v1/me"])
def test_nothing_personal_is_kept_by_a_cache(owner, path):
    assert "no-store" in owner.get(path).headers["Cache-Control"]


def test_a_broken_page_has_its_headers_and_tells_nothing(owner, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("the innermost secret")

    monkeypatch.setattr("memoryhub.domain.spaces.get_for_person", broken)
    owner.raise_request_exception = False
    answer = owner.get("/s/books/", headers={"X-Request-Id": "abcdef-123456"})
    assert answer.status_code == 500
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == STRICT
    text = answer.content.decode()
    assert "abcdef-123456" in text
    assert "innermost" not in text and "Traceback" not in text and "RuntimeError" not in text


# ---- cookies, TLS, hosts ----


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(client, db):
    person = accounts.create_person(HUB, "rk", password="correct horse battery")
    answer = client.post("/login/", {"username": person.username, "password": "correct horse battery"})
    session = answer.cookies["memoryhub_session"]
    assert session["httponly"] and session["samesite"] == "Lax" and session["path"] == "/"
    csrf = client.get("/account/").cookies["memoryhub_csrf"]
    assert csrf["httponly"] and csrf["samesite"] == "Lax"


def test_signing_in_starts_another_session(client, db):
    person = accounts.create_person(HUB, "rk", password="correct horse battery")
    client.cookies["memoryhub_session"] = "planted-by-somebody-else-0000000"
    client.post("/login/", {"username": person.username, "password": "correct horse battery"})
    assert client.cookies["memoryhub_session"].value != "planted-by-somebody-else-0000000"


LOOK = """
import json, django
django.setup()
from django.conf import settings
from django.test import Client
from django.utils.html import strip_tags
client = Client(SERVER_NAME="hub.example.org", raise_request_exception=False)
tls, plain = client.get("/healthz", headers={"X-Forwarded-Proto": "https"}), client.get("/healthz")
print(json.dumps({
    "tls": dict(tls.headers), "plain": dict(plain.headers), "redirects": plain.status_code,
    "secure": [settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE],
    "hasher": settings.PASSWORD_HASHERS[0], "debug": settings.DEBUG, "origins": settings.CSRF_TRUSTED_ORIGINS,
    "wrong_host": Client(SERVER_NAME="evil.example").get("/healthz").status_code,
    "wrong_host_of_prompt": Client(SERVER_NAME="evil.example").get("/api/v1/prompt").status_code,
}))
"""


def hub_with(tmp_path: Path, **environment: str) -> dict:
    """What the real settings make of an environment, in a process of its own."""
    return json.loads(script(LOOK, MEMORYHUB_DATA_DIR=str(tmp_path), **environment))


@pytest.fixture(scope="module")
def started(tmp_path_factory) -> SimpleNamespace:
    """What a hub says of itself without TLS and, started once more in its data directory, behind it; its key after each start."""
    folder = tmp_path_factory.mktemp("started")
    kept = folder / "secret_key"
    plain, first = hub_with(folder, ALLOWED_HOSTS="hub.example.org"), kept.read_text()
    tls = hub_with(folder, MEMORYHUB_BEHIND_TLS="true", ALLOWED_HOSTS="hub.example.org")
    return SimpleNamespace(plain=plain, tls=tls, kept=kept, keys=(first, kept.read_text()))


def test_behind_tls_browsers_are_held_to_it(started):
    hub = started.tls
    assert "max-age=31536000" in hub["tls"]["Strict-Transport-Security"]
    assert "Strict-Transport-Security" not in hub["plain"]
    assert hub["redirects"] == 200  # health checks come in plain HTTP
    assert hub["secure"] == [True, True]
    assert hub["origins"] == ["https://hub.example.org"]


def test_without_tls_nobody_claims_it_by_a_header(started):
    hub = started.plain
    assert "Strict-Transport-Security" not in hub["tls"]
    assert hub["secure"] == [False, False]
    assert hub["hasher"].endswith("Argon2PasswordHasher")
    assert hub["debug"] is False


def test_only_named_hosts_are_served(started):
    assert (started.plain["wrong_host"], started.plain["wrong_host_of_prompt"]) == (400, 400)


def test_a_wrong_value_stops_the_start_with_its_name(tmp_path):
    for name, value in {
        "DEBUG": "perhaps",
        "MEMORYHUB_EMBEDDER": "none",
        "SECRET_KEY": "short",
        "DATABASE_URL": "mysql://x",
        "ALLOWED_HOSTS": "https://hub.example.org",
        "MEMORYHUB_EMBEDDER_URL": "hub.example.org",
    }.items():
        told = refused("doctor", MEMORYHUB_DATA_DIR=str(tmp_path), **{name: value})
        assert f"{name} is" in told and "allowed is" in told, name


def test_the_secret_key_is_made_once_and_readable_by_its_owner_alone(started):
    first, second = started.keys
    assert first == second and len(first) >= 48
    assert started.kept.stat().st_mode & 0o777 == 0o600


# ---- too much, or broken, before anything is read ----


def test_a_body_over_8_mib_is_413_in_the_one_shape(client, secret):
    answer = client.post(
        "/api/v1/quarantine", b'{"content": "' + b"x" * 8 * MIB + b'"}', content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )  # fmt: skip
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_content_over_1_mib_is_413(client, secret, house):
    files.add_mount(house.space, house.owner, "/memories/")
    body = {"content": "x" * (MIB + 1), "session_id": "s", "node_id": "n", "node_kind": "agent", "scope": "group"}
    headers = {"Authorization": f"Bearer {secret}"}
    answer = client.post("/api/v1/quarantine", body, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    written = client.put(
        "/api/v1/files/memories/big.md", {"content": "x" * (MIB + 1)}, content_type="application/json", headers=headers
    )
    assert written.status_code == 413


def test_a_form_over_8_mib_gets_a_page_that_says_so(owner):
    answer = owner.post("/s/books/settings/rename/", {"name": "x" * (8 * MIB + 1)})
    assert answer.status_code == 413
    assert "Too large" in answer.content.decode()


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b'"text"', b"\xff\xfe", b'{"content": NaN}', b"null"])
def test_a_broken_body_is_422_never_500(client, secret, body):
    for path in ("/api/v1/quarantine", "/api/v1/prompt", "/api/v1/edits", "/api/v1/batch"):
        answer = client.post(path, body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"})
        if path == "/api/v1/prompt" and body in (b"", b'{"content": NaN}'):
            continue  # a prompt needs nothing said, and knows no content
        assert answer.status_code == 422, f"{path}: {answer.status_code}"
        assert answer.json()["error"]["code"]


# ---- secrets stay where they are ----


def everything_stored() -> str:
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        tables = [row[0] for row in cursor.fetchall()]
        text = []
        for table in tables:
            cursor.execute(f"SELECT t::text FROM {table} t")
            text += [row[0] for row in cursor.fetchall()]
    return "\n".join(text)


def test_neither_tokens_nor_links_nor_passwords_are_stored(house, owner, client):
    agent = prompts.create_agent(house.space, house.owner, "forge")
    _, made = accounts.create_token(house.space, house.owner, agent=agent)
    link = accounts.make_sign_in_link(house.owner, house.viewer.person)
    owner.post("/account/password/", {"new": "correct horse battery", "again": "correct horse battery"})
    client.get("/api/v1/me", headers={"Authorization": f"Bearer {made}"})
    client.post(f"/login/once/{link}/")
    page = owner.post("/s/books/tokens/new/", {"agent": "forge", "label": "x", "scopes": ["prompt"]}).content.decode()
    stored = everything_stored()
    assert made[:12] in stored  # its beginning, so that people know which one it is
    for thing in (made, link, "correct horse battery", *words_like_tokens(page)):
        assert thing not in stored


def words_like_tokens(page: str) -> set[str]:
    import re

    found = set(re.findall(r"mh_[a-z]+_[A-Za-z0-9]{20,}", page))
    assert found, "the page shows the new token once"
    return found


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("GET /login/once/abcdefghijklmnop_-123/ 200", "GET /login/once/…/ 200"),
        ("Bearer mh_forge_1Bc4dEfGhIjKlMnOpQrStUv refused", "Bearer mh_forge_1Bc4… refused"),
        ("nothing here", "nothing here"),
    ],
)
def test_a_log_line_shows_the_beginning_of_a_secret_at_most(said, kept):
    assert hide_secrets(said) == kept
    record = logging.LogRecord("memoryhub", logging.INFO, "", 0, "%s", (said,), None)
    assert HideTokens().filter(record) and record.getMessage() == kept


@pytest.mark.parametrize("typed", ["a\n2026-11-19 ERROR forged", "a\r\x1b[2J", "a\u2028b", "a\u202eb"])
def test_what_somebody_typed_begins_no_line_of_the_log(typed):
    for args in ((typed,), (ValueError(typed),), ({"name": typed},)):
        said = "%(name)s was here" if isinstance(args[0], dict) else "%s was here"
        record = logging.LogRecord("memoryhub", logging.WARNING, "here.py", 1, said, args, None)
        HideTokens().filter(record)
        line = record.getMessage()
        assert line.endswith(" was here") and line.isprintable()


def test_a_password_typed_as_a_name_is_not_in_the_log(client, db, caplog):
    client.post("/login/", {"username": "Correct horse battery", "password": "x"})
    assert "failed sign-in of a name that nobody has, number 1" in caplog.text
    assert "horse" not in caplog.text.lower()


def test_a_traceback_in_the_log_hides_secrets_too(secret):
    try:
        raise RuntimeError(f"no luck with {secret}")
    except RuntimeError:
        record = logging.LogRecord("django.request", logging.ERROR, "", 0, "broken", (), sys.exc_info())
    HideTokens().filter(record)
    line = logging.Formatter("%(message)s").format(record)
    assert "RuntimeError: no luck with mh_forge_" in line and secret not in line


def test_an_error_never_repeats_the_token_it_was_given(client, house):
    wrong = "mh_forge_" + "a1B2c3D4" * 4
    answer = client.get("/api/v1/me", headers={"Authorization": f"Bearer {wrong}"})
    assert answer.status_code == 401 and wrong not in answer.content.decode()
    answer = client.get(f"/api/v1/{wrong}", headers={"Authorization": f"Bearer {wrong}"})
    assert wrong not in answer.content.decode()


def test_unknown_names_take_as_long_as_wrong_passwords(client, db, monkeypatch):
    """Not measured but counted: each try hashes exactly one password."""
    accounts.create_person(HUB, "rk", password="correct horse battery")
    hashed = []
    from django.contrib.auth.hashers import MD5PasswordHasher

    original = MD5PasswordHasher.encode
    monkeypatch.setattr(MD5PasswordHasher, "encode", lambda *a, **k: hashed.append(1) or original(*a, **k))
    counts = []
    for name in ("rk", "nobody"):
        hashed.clear()
        client.post("/login/", {"username": name, "password": "wrong horse"})
        counts.append(len(hashed))
    assert counts[0] == counts[1] == 1


# ---- odd input ----

ODD = ["\x00", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "9" * 30, "-1", "a" * 5000, "[../"]


@pytest.mark.attack
def test_no_address_breaks_on_odd_input(owner):
    from tests.web.test_walls import ALL

    names = (
        "q",
        "query",
        "page",
        "cursor",
        "at",
        "who",
        "kind",
        "since",
        "until",
        "view",
        "state",
        "agent",
        "a",
        "b",
        "revision",
        "path",
    )
    faults = []
    owner.raise_request_exception = False
    for address in ALL:
        for odd in ODD:
            answer = owner.get(address.at("books"), dict.fromkeys(names, odd))
            if answer.status_code >= 500:
                faults.append(f"{address.at('books')} with {odd[:20]!r} everywhere: {answer.status_code}")
    assert not faults, "\n".join(faults)


@pytest.mark.attack
def test_no_form_breaks_on_odd_input(house):
    from tests.web.test_walls import ALL, FIELDS

    client, faults = Client(raise_request_exception=False), []
    for address in ALL:
        for odd in ("\x00", "9" * 30, "[]"):
            client.force_login(house.owner.person)
            with transaction.atomic():
                status = client.post(address.at("books"), dict.fromkeys(FIELDS, odd)).status_code
                transaction.set_rollback(True)
            if status >= 500:
                faults.append(f"post {address.at('books')} with {odd[:20]!r} everywhere: {status}")
    assert not faults, "\n".join(faults)


def test_no_call_breaks_on_odd_input(client, secret):
    from tests.web.test_walls import CALLS, send

    faults = []
    client.raise_request_exception = False
    for call in CALLS:
        for odd in ODD:
            answer = send(client, call, secret, odd=odd)
            if answer.status_code >= 500:
                faults.append(f"{call} with {odd[:20]!r} everywhere: {answer.status_code}")
    assert not faults, "\n".join(faults)


def test_numbers_beyond_the_database_are_nothing_here(owner, client, secret):
    from tests.web.test_walls import ALL, IN_SPACE

    owner.raise_request_exception = False
    huge = "9" * 25
    for address in [a for a in ALL if "int" in a.arguments.values()]:
        where = address.at("books").replace("900001", huge)
        for method in ("get", "post"):
            status = getattr(owner, method)(where).status_code
            assert status in (404, 405, 422), f"{method} {where}: {status}"
    assert IN_SPACE


# ---- what people and agents write is text, never markup ----

MARKUP = "<b><img src=x onerror=alert(1)></b>\"'><svg/onload=alert(1)>"


def test_no_page_runs_what_somebody_wrote(house, owner, monkeypatch):
    """Every text of every table holds markup; no page may send it as it is."""
    from tests import planting
    from tests.web.test_walls import IN_SPACE

    monkeypatch.setattr(planting, "TEXT", f"{planting.WORD} {MARKUP}")
    monkeypatch.setattr(planting, "CANARY", MARKUP)
    planting.plant(house.space, accounts.create_person(HUB, "planter"))
    owner.raise_request_exception = False
    shown = 0
    views = [{"view": one} for one in ("edit", "history", "source")]
    for address in IN_SPACE:
        has_views = address.name.startswith(("files.", "proposals.", "prompts."))
        for query in ({}, {"q": planting.WORD}, *(views if has_views else ())):
            answer = owner.get(address.at("books"), query)
            text = (
                answer.content.decode()
                if not answer.streaming and "html" in answer.headers.get("Content-Type", "")
                else ""
            )
            shown += "onerror=alert" in text
            for piece in ("<img src=x", "<svg/onload", "<b><"):
                assert piece not in text, f"{address.at('books')}?{query} sends markup that somebody wrote"
    assert shown > 3, "the pages show nothing of what was planted"


def test_no_page_of_real_memory_runs_what_somebody_wrote(house, owner, client):
    """As an agent and a person write it, by the pages that links lead to: what is planted by rows alone opens few of them."""
    space, path = house.space, "/memories/AGENTS.md"
    files.add_mount(space, HUB, "/memories/", policy="review")
    for text in ("one", f"two\n\n{MARKUP}"):
        files.write(space, house.owner, path, f"# {MARKUP}\n\n- {text}\n".encode(), reason=f"why {MARKUP}")
    files.write(space, house.owner, "/memories/gone.md", b"Gone.\n")
    files.delete(space, house.owner, "/memories/gone.md", reason=f"gone {MARKUP}")
    agent = prompts.create_agent(space, house.owner, f"forge {MARKUP}")
    prompts.add_source(space, house.owner, path)
    call = Caller(client, accounts.create_token(space, house.owner, agent=agent)[1])
    edit = {"path": path, "old_string": "- two", "new_string": f"- three {MARKUP}", "reason": f"because {MARKUP}"}
    log = {"content": f"An answer {MARKUP}", "session_id": MARKUP, "node_id": MARKUP, "node_kind": "agent"}
    for method, where, body in (
        ("POST", "edits", edit), ("POST", "quarantine", log), ("GET", "prompt", None)
    ):  # fmt: skip
        answer = call(method, where, body)
        assert answer.status_code < 400, f"{where}: {answer.content.decode()}"
    longterm.store(space, house.owner, f"A finding {MARKUP}", reason=f"found {MARKUP}")
    found = walking.walk(get_with(owner), [space.get_absolute_url()])
    pages = {page.path: page.answer.text for page in found if page.answer.kind == "text/html"}
    faults = [
        path for path, text in pages.items() if any(piece in text for piece in ("<img src=x", "<svg/onload", "<b><"))
    ]
    assert not faults, "markup that somebody wrote is sent as it is: " + ", ".join(faults)
    shown = {walking.kind_of(path) for path, text in pages.items() if "onerror=alert" in text}
    assert len(shown) >= 30, sorted(shown)
    assert {f"files.page?view={one}" for one in ("history", "edit", "source")} <= shown


@pytest.mark.parametrize("inside", ["", "below"])
def test_a_data_directory_that_is_a_file_is_named(tmp_path, inside):
    taken = tmp_path / "taken"
    taken.write_text("a file")
    assert str(taken) in refused("doctor", MEMORYHUB_DATA_DIR=str(taken / inside))


@pytest.mark.parametrize("address", ["/login/", "/s/books/settings/import/preview/", "/api/v1/files/memories/a.md"])
def test_what_is_far_too_large_is_refused_before_it_is_read(client, address):
    """Uploads go to the disk while they are read, also those of strangers."""
    answer = client.generic(
        "POST", address, b"x", content_type="multipart/form-data; boundary=x", CONTENT_LENGTH=str(1 << 40)
    )
    assert answer.status_code == 413


def test_an_owner_of_a_space_does_not_reach_past_it_with_a_directory(house, tmp_path, settings):
    (tmp_path / "theirs" / "deep").mkdir(parents=True)
    (tmp_path / "ours").mkdir()
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    settings.MOUNT_ROOTS = [str(tmp_path)]
    sly = Actor.of_person(house.owner.person, "owner")
    sly.person.is_hub_owner = False
    files.add_mount(spaces.create(HUB, "elsewhere"), HUB, "/m/", store="filesystem", directory=str(tmp_path / "theirs"))
    for place in (tmp_path, tmp_path / "theirs", tmp_path / "theirs" / "deep", tmp_path / "data", "/etc", "/proc/self"):
        with pytest.raises(HubError):
            files.add_mount(house.space, sly, "/sly/", store="filesystem", directory=str(place))
    ours = files.add_mount(house.space, sly, "/sly/", store="filesystem", directory=str(tmp_path / "ours"))
    with pytest.raises(Forbidden):
        files.change_mount(house.space, sly, ours, directory=str(tmp_path / "theirs"))
    files.change_mount(house.space, sly, ours, policy="trusted")
    with pytest.raises(Invalid):
        files.add_mount(house.space, HUB, "/keys/", store="filesystem", directory=str(settings.DATA_DIR))


def test_a_whole_token_is_never_drawn_again(as_role, house):
    agent = prompts.create_agent(house.space, HUB, "forge")
    _, secret = accounts.create_token(house.space, HUB, agent=agent)
    viewer = as_role("viewer")
    for path in (
        f"search/?q={secret}",
        f"activity/?q={secret}",
        f"agents/?q={secret}",
        f"files/memories/{secret}",
        f"{secret}/",
    ):
        text = viewer.get(f"/s/books/{path}").content.decode()
        assert secret not in (text if "?" in path else strip_tags(text)), path


def test_a_refusal_says_once_what_to_do(as_role, house, client):
    refused = as_role("viewer").get("/s/books/settings/people/").content.decode()
    assert refused.count("sk an owner") == 1
    stale = Client(enforce_csrf_checks=True).post("/login/", {"username": "a", "password": "b"})
    assert stale.status_code == 403
    assert "reload the page" in stale.content.decode() and "for your role" not in stale.content.decode()


@pytest.mark.parametrize(
    ("path", "signed_in", "known"),
    [("/account/", True, True), ("/s/books/", True, True), ("/account/", False, False), ("/login/", False, False)],
)
def test_the_server_is_told_who_is_no_stranger(house, owner, client, path, signed_in, known):
    """Strangers' requests are limited by address: whoever is signed in, or calls with a token, is none."""
    answer = (owner if signed_in else client).get(path)
    assert (KNOWN in answer.wsgi_request.META) is known
    called = client.get("/api/v1/me", headers={"Authorization": "Bearer mh_x_y"})
    assert KNOWN not in called.wsgi_request.META
