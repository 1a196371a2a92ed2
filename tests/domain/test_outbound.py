"""Addresses that people enter: public ones, and others only where the hub's owner lists them; answers up to a limit."""

from __future__ import annotations

import gzip
import ipaddress
import os
import shutil
import socket
import threading
from collections.abc import Iterator

import certifi
import httpx
import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryhub import embedders
from memoryhub.domain import accounts, notify, quarantine, retrieval, spaces
from memoryhub.domain.notify import http
from memoryhub.domain.notify.addresses import check_address
from memoryhub.domain.notify.http import MAX_ANSWER
from memoryhub.embedders import EmbedderUnavailable
from memoryhub.errors import HubError, Invalid
from memoryhub.management import health
from memoryhub.models import HUB, Actor, Webhook
from memoryhub.settings_addresses import outbound

LOOPBACK = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "localhost", "LOCALHOST", "[::1]",
            "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]",
            "[64:ff9b:1:7f00:0:100::]", "[2001:db8::5efe:7f00:1]"]  # fmt: skip
PRIVATE = ["10.0.0.7", "10.7", "192.168.1.1", "172.16.0.1", "100.64.0.1", "[fd00::1]", "[::10.0.0.1]", "[64:ff9b::a00:1]",
           "[64:ff9b:1::a00:1]", "[fec0::1]", "198.18.0.1", "240.0.0.1", "[2001:db8::1]", "[64:ff9b:1::8.8.8.8]"]  # fmt: skip
PUBLIC = ["8.8.8.8", "134744072", "[2606:4700::1111]", "[64:ff9b::8.8.8.8]", "[::ffff:8.8.8.8]"]
NEVER = ["169.254.169.254", "2852039166", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "0.0.0.0",
         "[::169.254.169.254]", "[64:ff9b:1::a9fe:a9fe]", "[fd00:ec2::254]", "[fe80::1]", "100.100.100.200", "[::]", "224.0.0.1",
         "[ff02::1]", "0"]  # fmt: skip


def url(host: str) -> str:
    return f"http://{host}/hook"


@pytest.mark.parametrize("host", [*LOOPBACK, *PRIVATE])
def test_an_address_that_is_not_public_is_refused_and_the_setting_is_named(host, settings):
    settings.OUTBOUND = ()
    with pytest.raises(Invalid, match=r"MEMORYHUB_OUTBOUND=(loopback|private)"):
        notify.check_url(url(host))
    with pytest.raises(Invalid, match="MEMORYHUB_OUTBOUND"):
        notify.addresses_of(url(host))


@pytest.mark.parametrize(("hosts", "word"), [(LOOPBACK, "loopback"), (PRIVATE, "private")])
def test_a_word_allows_its_addresses_alone(hosts, word, settings):
    for host in hosts:
        settings.OUTBOUND = ("any",)
        notify.check_url(url(host))
    settings.OUTBOUND = (word,)
    plain = [host for host in hosts if "[" not in host or "::1]" in host]
    for host in plain:
        if host != "[2001:db8::1]" or word == "private":
            notify.check_url(url(host))
    for host in PRIVATE[:3] if word == "loopback" else LOOPBACK[:3]:
        with pytest.raises(Invalid):
            notify.check_url(url(host))


@pytest.mark.parametrize("host", NEVER)
def test_what_machines_ask_about_themselves_is_refused_whatever_is_allowed(host, settings):
    settings.OUTBOUND = ("any", "0.0.0.0/0", "::/0")
    with pytest.raises(Invalid):
        notify.addresses_of(url(host))


@pytest.mark.parametrize("host", PUBLIC)
def test_public_addresses_need_no_setting(host, settings):
    settings.OUTBOUND = ()
    check_address(
        host, ipaddress.ip_address(socket.inet_ntoa(socket.inet_aton(host)) if "[" not in host else host[1:-1]), ()
    )


def test_networks_and_names_allow_what_they_say():
    ten, other = ipaddress.ip_address("10.1.2.3"), ipaddress.ip_address("10.2.0.1")
    check_address("x", ten, ("10.1.0.0/16",))
    with pytest.raises(Invalid):
        check_address("x", other, ("10.1.0.0/16",))
    check_address("Chat.Internal", other, ("chat.internal",))
    with pytest.raises(Invalid):
        check_address("chat.internal.example.org", other, ("chat.internal",))


def test_the_setting_takes_words_networks_and_names_and_refuses_the_rest():
    assert outbound(" Loopback, 10.0.0.0/8,chat.internal,::1,* ") == (
        "loopback",
        "10.0.0.0/8",
        "chat.internal",
        "::1",
        "any",
    )
    assert outbound("") == ()
    for wrong in ("http://x", "10.0.0.0/33", "300.1.1.1", "a b", "127.0.0.1:80"):
        with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_OUTBOUND"):
            outbound(wrong)


# ---- where addresses are entered ----


@pytest.mark.django_db
def test_every_address_that_is_entered_is_looked_at(settings):
    settings.OUTBOUND = ()
    space = spaces.create(HUB, "ledger")
    with pytest.raises(Invalid, match="MEMORYHUB_OUTBOUND"):
        notify.add_webhook(space, HUB, "http://127.1:9/")
    with pytest.raises(Invalid, match="MEMORYHUB_OUTBOUND"):
        quarantine.configure_judge(space, HUB, is_on=True, url="http://2130706433:9/v1", model="m")
    for broken in (
        "http://[/",
        "http://a b/",
        "http://example.org:0x50/",
        "https://exa\nmple.org/",
        "http://e.org:99999/",
        "http:///x",
    ):
        with pytest.raises(Invalid, match="whole address"):
            notify.add_webhook(space, HUB, broken)
        with pytest.raises(Invalid, match="whole address"):
            quarantine.configure_judge(space, HUB, is_on=True, url=broken, model="m")
    settings.EMBEDDER, settings.EMBEDDER_URL = "openai_endpoint", "http://[::127.0.0.1]:9/v1"
    with pytest.raises(EmbedderUnavailable, match="MEMORYHUB_OUTBOUND"):
        retrieval.serving_embedder(space)


@pytest.mark.django_db
def test_doctor_names_addresses_of_before_that_are_refused_now(settings):
    space = spaces.create(HUB, "ledger")
    notify.add_webhook(space, HUB, "http://127.0.0.1:9/")
    quarantine.configure_judge(space, HUB, is_on=True, url="http://localhost:9/v1", model="m")
    assert [one.ok for one in health.outgoing_addresses()] == [True]
    settings.OUTBOUND = ()
    found = list(health.outgoing_addresses())
    assert [(one.name, one.ok) for one in found] == [("webhook of ledger", False), ("judge of ledger", False)]
    assert "MEMORYHUB_OUTBOUND=loopback" in found[0].says
    Webhook.objects.update(is_on=False)
    assert len(list(health.outgoing_addresses())) == 1


@pytest.mark.django_db
def test_the_page_says_which_setting_allows_a_refused_address(client, settings):
    settings.OUTBOUND = ()
    space, owner = spaces.create(HUB, "ledger"), accounts.create_person(HUB, "jw")
    spaces.add_member(space, HUB, owner, "owner")
    client.force_login(owner)
    answer = client.post(
        "/s/ledger/settings/webhooks/add/", {"url": "http://127.0.0.1/", "shape": "hub", "events": ["proposal.created"]}
    )
    assert answer.status_code == 422
    assert "MEMORYHUB_OUTBOUND=loopback" in answer.content.decode()
    assert Actor.of_person(owner, "owner") and not Webhook.objects.exists()


# ---- answers ----


class Talker:
    """Answers each connection with the same bytes, over and over if it is told to."""

    def __init__(self, head: str, body: bytes, times: int) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.head, self.body, self.times, self.sent = head.encode(), body, times, 0
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/v1"
        threading.Thread(target=self.talk, daemon=True).start()

    def talk(self) -> None:
        while True:
            try:
                one, _ = self.socket.accept()
            except OSError:
                return
            try:
                one.recv(1 << 16)
                one.sendall(self.head)
                for _ in range(self.times):
                    one.sendall(self.body)
                    self.sent += len(self.body)
            except OSError:
                pass
            one.close()


@pytest.fixture
def talker() -> Iterator:
    made = []

    def make(head: str, body: bytes, times: int = 1) -> Talker:
        made.append(Talker(head, body, times))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


def test_an_endless_answer_is_cut_as_it_comes(talker):
    endless = talker("HTTP/1.1 200 OK\r\n\r\n", b"a" * 65536, times=4000)
    answer = notify.post_json(endless.url, content=b"{}", headers={}, seconds=10)
    assert (answer.status_code, len(answer.content)) == (200, MAX_ANSWER)
    assert endless.sent < 64 << 20


def test_certificates_are_read_once_until_their_file_changes(talker, monkeypatch, tmp_path):
    certificates = shutil.copy(certifi.where(), tmp_path / "certificates.pem")
    monkeypatch.setattr(certifi, "where", lambda: str(certificates))
    plain = talker("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"{}")
    read = []
    for _ in range(3):
        assert notify.post_json(plain.url, content=b"{}", headers={}, seconds=10).content == b"{}"
        read.append(http.tls_context())
    os.utime(certificates, (1, 1))
    assert read[0] is read[1] is read[2] is not http.tls_context()
    assert len(read[0].get_ca_certs()) > 50


def test_a_compressed_answer_is_not_decompressed(talker):
    bomb = gzip.compress(b"\0" * (256 << 20), compresslevel=1)
    gzipped = talker(f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n", bomb)
    assert notify.post_json(gzipped.url, content=b"{}", headers={}, seconds=10).content == b""
    embedder = embedders.load("openai_endpoint", {"MEMORYHUB_EMBEDDER_URL": gzipped.url})
    with pytest.raises((HubError, httpx.HTTPError)):
        embedder.embed(["a"], seconds=3)


def test_an_embedders_answer_has_a_limit_and_its_refusals_no_password(talker):
    endless = talker("HTTP/1.1 200 OK\r\n\r\n", b" " * 65536, times=4000)
    address = endless.url.replace("//", "//me:hunter2@")
    embedder = embedders.load("openai_endpoint", {"MEMORYHUB_EMBEDDER_URL": f"{address}?key=hunter3"})
    with pytest.raises(EmbedderUnavailable, match="larger than 16 MiB") as refusal:
        embedder.embed(["a"], seconds=20)
    assert "hunter" not in refusal.value.message
