"""Sign-in through the real server: a proxy's header as it comes over the wire, and a start without the owner's link."""

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.running import Hub, command, copied

PROXY = {"MEMORYHUB_PROXY_USER_HEADER": "Remote-User", "MEMORYHUB_PROXY_ADDRESSES": "127.0.0.1"}


@pytest.fixture(scope="module")
def hub(started_once: Path) -> Iterator[Hub]:
    with copied(started_once) as data_dir:
        hub = Hub(data_dir, "--workers", "1", MEMORYHUB_OWNER_LINK="false", **PROXY)
        for line in hub.process.stdout:
            hub.said.append(line)
            if line.startswith("memoryhub ready: "):
                break
        hub.url = hub.said[-1].removeprefix("memoryhub ready: ").strip().removesuffix("/login/")
        yield hub
        assert hub.stop() == 0


def test_a_start_without_the_owners_link_names_the_sign_in_page(hub):
    assert hub.said[-1] == f"memoryhub ready: {hub.url}/login/\n"
    assert "each start prints" not in httpx.get(f"{hub.url}/login/").text


def test_the_proxy_names_somebody_and_nobody_spells_the_header_otherwise(hub):
    made = command("user", "add", "nina", "--role", "viewer", "--data-dir", str(hub.data_dir))
    assert made.returncode == 0, made.stderr
    named = httpx.get(f"{hub.url}/account/", headers={"Remote-User": "nina"})
    assert named.status_code == 200 and "nina" in named.text
    for spelled in ("Remote_User", "remote_user", "REMOTE_USER"):
        assert httpx.get(f"{hub.url}/account/", headers={spelled: "nina"}).status_code == 302
    with_both = httpx.get(f"{hub.url}/account/", headers=[("Remote-User", "nina"), ("Remote_User", "owner")])
    assert "nina" in with_both.text and ">owner<" not in with_both.text
    twice = httpx.get(f"{hub.url}/account/", headers=[("Remote-User", "owner"), ("Remote-User", "nina")])
    assert twice.status_code == 403


def test_another_address_of_the_machine_is_no_proxy(hub):
    port = int(hub.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0)) as other:
        other.sendall(b"GET /account/ HTTP/1.1\r\nHost: localhost\r\nRemote-User: nina\r\nConnection: close\r\n\r\n")
        assert other.recv(100).split()[1] == b"403"
