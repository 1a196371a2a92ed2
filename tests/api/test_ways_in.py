"""What every way to the hub refuses alike, also the two that go past the middleware: foreign names, broken addresses."""

import io
import json

import pytest

from memoryhub.wsgi import application


def ask(path, host):
    heard = {}

    def start(status, headers):
        heard["status"] = int(status.split()[0])

    environ = {
        "REQUEST_METHOD": "GET", "PATH_INFO": path, "QUERY_STRING": "", "SERVER_NAME": "x", "SERVER_PORT": "80", "HTTP_HOST": host,
        "HTTP_AUTHORIZATION": "Bearer mh_none", "wsgi.input": io.BytesIO(), "wsgi.url_scheme": "http", "REMOTE_ADDR": "127.0.0.1",
    }  # fmt: skip
    return heard, b"".join(application(environ, start))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/prompt", "/api/v1/files/memories/AGENTS.md", "/api/v1/me"])
def test_another_name_is_refused_in_the_one_shape(path, settings):
    settings.ALLOWED_HOSTS = ["hub.example.org"]
    from memoryhub import wsgi

    wsgi.is_allowed.cache_clear()
    heard, body = ask(path, "elsewhere.example.org")
    assert heard["status"] == 400
    assert json.loads(body)["error"]["code"] == "bad_request"
    heard, body = ask(path, "hub.example.org:8000")
    assert heard["status"] == 401
    wsgi.is_allowed.cache_clear()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/v1/files/memories/\xff", "/api/v1/prompt\xc3", "/api/v1/files/a\xed\xa0\x80b"])
def test_an_address_that_is_no_utf_8_is_refused_instead_of_repaired(path):
    heard, body = ask(path, "localhost")
    assert heard["status"] == 422
    assert json.loads(body)["error"]["code"] == "invalid_path"
    heard, _ = ask("/api/v1/files/memories/\xc3\xa4.md", "localhost")
    assert heard["status"] == 401
