"""Addresses in settings: which server sends the hub's mail, where people open the hub, where an embedder is asked."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from memoryhub.settings_addresses import embedder_url, mail, public_url


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", ("localhost", 25, "", "", False, False)),
        ("smtp://mail.example.org", ("mail.example.org", 25, "", "", False, False)),
        ("smtp+starttls://rk:p%40ss@mail.example.org", ("mail.example.org", 587, "rk", "p@ss", False, True)),
        ("smtps://rk:s@mail.example.org:2465", ("mail.example.org", 2465, "rk", "s", True, False)),
    ],
)
def test_an_address_becomes_djangos_settings(url, told):
    names = ("HOST", "PORT", "HOST_USER", "HOST_PASSWORD", "USE_SSL", "USE_TLS")
    found = mail(url)
    assert tuple(found[f"EMAIL_{name}"] for name in names) == told
    assert found["EMAIL_TIMEOUT"] == 20


@pytest.mark.parametrize(
    "url",
    ["mail.example.org", "http://u:geheim@host", "smtp://", "smtp://u:geheim@host:99999", "smtp://u:geheim@[host"],
)
def test_what_is_no_mail_server_stops_the_start_and_repeats_no_password(url):
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_MAIL_URL is no mail server") as refusal:
        mail(url)
    assert "geheim" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "hub.example.org",
        "ftp://hub.example.org",
        "https://",
        "https://hub.example.org/?a=b",
        "https://[hub",
        "https://hub.example.org:x",
        "https://hub.example.org/|<!channel>",
    ],
)
def test_links_lead_to_a_whole_address(url):
    assert public_url("https://hub.example.org/") == "https://hub.example.org"
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_PUBLIC_URL is"):
        public_url(url)


@pytest.mark.parametrize(
    ("name", "port"), [("ollama", 11434), ("lmstudio", 1234), ("llama.cpp", 8080), ("vllm", 8000), ("TEI", 8080)]
)
def test_a_server_of_this_machine_has_a_name(name, port):
    assert embedder_url(name, "openai_endpoint:bge-m3") == f"http://127.0.0.1:{port}/v1"


@pytest.mark.parametrize("url", ["hub.example.org", "http://[hub", "http://hub:port/v1"])
def test_an_embedder_is_asked_at_an_address(url):
    with pytest.raises(ImproperlyConfigured, match="MEMORYHUB_EMBEDDER_URL is"):
        embedder_url(url, "openai_endpoint")
