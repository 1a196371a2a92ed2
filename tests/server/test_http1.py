"""What the web server understands as a request, byte by byte."""

from __future__ import annotations

import contextlib

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryhub.server.http import http1
from memoryhub.server.http.http1 import BadRequest, ChunkedReader, answer_head, parse_head

BASE = {"SERVER_NAME": "127.0.0.1"}


def head(*lines: str, first: str = "POST /a%20b/%C3%A9?x=%20 HTTP/1.1"):
    return parse_head("\r\n".join((first, "Host: hub", *lines)).encode("latin-1"), BASE)


def refused(*lines: str, **more: str) -> int:
    with pytest.raises(BadRequest) as error:
        head(*lines, **more)
    return error.value.status


def test_a_head_becomes_the_variables_of_wsgi():
    found = head(
        "Content-Type: text/plain", "X-Thing:  a ", "x-thing: b", "Cookie: a=1", "Cookie: b=2", "Content-Length: 3"
    )
    assert found.environ == {
        **BASE, "REQUEST_METHOD": "POST", "PATH_INFO": "/a b/Ã©", "QUERY_STRING": "x=%20", "RAW_URI": "/a%20b/%C3%A9?x=%20",
        "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_HOST": "hub", "CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "3",
        "HTTP_X_THING": "a, b", "HTTP_COOKIE": "a=1; b=2",
    }  # fmt: skip
    assert (found.length, found.is_chunked, found.keep_alive, found.has_body) == (3, False, True, True)


def test_a_name_with_an_underscore_is_not_taken_for_the_one_with_a_hyphen():
    assert "HTTP_X_FORWARDED_FOR" not in head("X_Forwarded_For: 10.0.0.1", "X-Forwarded_For: 10.0.0.1").environ


def test_an_absolute_address_names_the_host():
    found = head(first="GET http://other.example/x?y HTTP/1.1")
    assert [found.environ[name] for name in ("HTTP_HOST", "PATH_INFO", "QUERY_STRING")] == ["other.example", "/x", "y"]
    assert head(first="GET http://other.example?y HTTP/1.1").environ["PATH_INFO"] == "/"


def test_whether_the_connection_stays():
    assert not head("Connection: close").keep_alive
    assert not head(first="GET / HTTP/1.0").keep_alive
    assert head("Connection: Keep-Alive", first="GET / HTTP/1.0").keep_alive


@pytest.mark.parametrize(("lines", "status"), [
    (["Content-Length: 3", "Content-Length: 3"], 400), (["Content-Length: +3"], 400), (["Content-Length: 3, 3"], 400),
    (["Content-Length: 0x3"], 400), (["Content-Length: "], 400), (["Content-Length: " + "9" * 20], 400),
    (["Content-Length: ３"], 400), (["Content-Length: 3", "Transfer-Encoding: chunked"], 400),
    (["Transfer-Encoding: gzip, chunked"], 501), (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], 400),
    (["Transfer-Encoding: xchunked"], 501), (["Host: other"], 400), (["Authorization: a", "Authorization: b"], 400),
    ([" folded: x"], 400), (["no colon"], 400), (["Name : x"], 400), ([": x"], 400), (["A: b\nX: y"], 400), (["A: b\rX: y"], 400),
    (["A: \x00"], 400), (["A: \x7f"], 400), (["A: x"] * 101, 431), (["Expect: something"], 417),
])  # fmt: skip
def test_what_could_be_understood_in_two_ways_is_refused(lines, status):
    with pytest.raises(BadRequest) as error:
        parse_head("\r\n".join(("POST / HTTP/1.1", "Host: hub", *lines)).encode("utf-8"), BASE)
    assert error.value.status == status


@pytest.mark.parametrize(("first", "status"), [
    ("GET /", 400), ("GET  / HTTP/1.1", 400), ("GET / HTTP/1.1 ", 400), ("GET x HTTP/1.1", 400), ("GET * HTTP/1.1", 400),
    ("GET ftp://x/ HTTP/1.1", 400), ("GET / HTTP/2.0", 505), ("PRI * HTTP/2.0", 505), ("CONNECT x:1 HTTP/1.1", 400),
    ("G<T / HTTP/1.1", 400), ("GET / http/1.1", 400), ("", 400),
])  # fmt: skip
def test_a_first_line_that_is_no_request_is_refused(first, status):
    assert refused(first=first) == status


def test_http_1_1_names_its_host_and_1_0_need_not():
    with pytest.raises(BadRequest):
        parse_head(b"GET / HTTP/1.1", BASE)
    assert parse_head(b"GET / HTTP/1.0", BASE).minor == 0


def dechunk(data: bytes, step: int) -> tuple[bytes, bytes]:
    """The body and what came after it, read in steps of so many bytes."""
    reader, buffer, body = ChunkedReader(), bytearray(), b""
    for at in range(0, len(data), step):
        buffer += data[at : at + step]
        pieces, is_complete = reader.feed(buffer)
        body += b"".join(pieces)
        if is_complete:
            return body, bytes(buffer) + data[at + step :]
    raise AssertionError("the body has no end")


@given(
    st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(1, 40), st.sampled_from([b"", b"A: b\r\n"])
)
def test_a_chunked_body_is_the_same_however_it_arrives(chunks, step, trailer):
    data = b"".join(b"%x;a=b\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n" + trailer + b"\r\nNEXT"
    assert dechunk(data, step) == (b"".join(chunks), b"NEXT")


@pytest.mark.parametrize(
    "data",
    [
        b"x\r\n",
        b"-1\r\n",
        b"0x1\r\na\r\n",
        b"1\r\nab\r\n",
        b"\r\n",
        b"1\n",
        b"1" * 2000,
        b"1" * 17 + b"\r\n",
        b"0\r\nhello\r\n",
        b"0\r\nA: b\n\r\n",
        b"0\r\n A: b\r\n",
        b"0\r\nA: \x00\r\n",
    ],
)
def test_a_body_that_is_not_chunked_as_it_should_be_is_refused(data):
    with pytest.raises(BadRequest):
        dechunk(data + b"\n" * 1100, 7)


def test_endless_trailers_are_refused():
    with pytest.raises(BadRequest):
        dechunk(b"0\r\n" + b"A: b\r\n" * 5000, 1000)


@given(st.lists(st.tuples(st.sampled_from(["A", "X-Long-Name", "Accept", "b"]), st.text(max_size=20)), max_size=6))
def test_what_is_understood_is_what_another_library_understands(headers):
    """h11 is strict as well: a head that it refuses is not understood as something, one that both take has the same fields."""
    data = "\r\n".join(["GET /x?y HTTP/1.1", "Host: hub", *(f"{name}: {value}" for name, value in headers)]).encode()
    theirs = h11.Connection(h11.SERVER)
    theirs.receive_data(data + b"\r\n\r\n")
    try:
        event = theirs.next_event()
    except h11.RemoteProtocolError:
        event = None
    try:
        ours = parse_head(data, BASE).environ
    except BadRequest:
        return  # to be stricter is no fault
    assert isinstance(event, h11.Request)
    for name in {name for name, _ in event.headers}:
        expected = ", ".join(value.decode("latin-1") for other, value in event.headers if other == name)
        assert ours["HTTP_" + name.decode().upper().replace("-", "_")] == expected


def test_an_answer_cannot_hold_a_line_end_in_a_header():
    with pytest.raises(ValueError, match="line end"):
        answer_head("200 OK", [("A", "b\r\nSet-Cookie: x")])
    with pytest.raises(ValueError, match="line end"):
        answer_head("200 OK", [("A", "b\r\n\r\nx")])


def test_names_that_strangers_think_up_are_not_kept_for_long(monkeypatch):
    monkeypatch.setattr(http1, "_names", {})
    for number in range(1100):
        head(f"X-{number}: a", f"Y{number}{'y' * 60_000}: a")
    assert len(http1._names) == http1.MAX_NAMES
    assert max(map(len, http1._names)) <= 64


LINES = st.sampled_from([
    b"POST / HTTP/1.1", b"GET /a HTTP/1.1", b"GET /a HTTP/1.0", b"Host: hub", b"Host: hub", b"host:hub",
    b"Content-Length: 5", b"Content-Length:5 ", b"Content-Length: 05", b"Content-Length: 5,5", b"content-length: 0",
    b"Content-Length: 5\r\nContent-Length: 5", b"Transfer-Encoding: chunked", b"Transfer-Encoding:chunked\t",
    b"transfer-encoding: Chunked", b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding : chunked", b"Transfer-Encoding: identity", b"Transfer_Encoding: chunked", b" chunked",
    b"Connection: close", b"X: a\nContent-Length: 5", b"X: a\rY: b", b"X: \x00", b"X", b"", b"", b"5", b"0", b"5;a=b",
    b"0x5", b"hello", b"hello0", b"00", b"+5", b"5 ", b"-0", b"\xb2",
])  # fmt: skip


def our_reading(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """Method, target and body of each complete request, up to the first that is refused."""
    found, buffer = [], bytearray(data)
    with contextlib.suppress(BadRequest):
        while (end := buffer.find(b"\r\n\r\n")) >= 0:
            one = parse_head(bytes(buffer[:end]), BASE)
            del buffer[: end + 4]
            body = bytes(buffer[: one.length])
            if one.is_chunked:
                pieces, is_complete = ChunkedReader().feed(buffer)
                body = b"".join(pieces)
            else:
                is_complete = len(body) == one.length
                del buffer[: one.length]
            if not is_complete:
                break
            found.append((one.environ["REQUEST_METHOD"].encode(), one.environ["RAW_URI"].encode("latin-1"), body))
            if not one.keep_alive:
                break
    return found


def their_reading(data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """What h11 makes of the same bytes."""
    found, server = [], h11.Connection(h11.SERVER)
    server.receive_data(data)
    with contextlib.suppress(h11.RemoteProtocolError):
        while isinstance(asked := server.next_event(), h11.Request):
            body = b""
            while isinstance(part := server.next_event(), h11.Data):
                body += bytes(part.data)
            if part is h11.NEED_DATA:
                break
            found.append((asked.method, asked.target, body))
            server.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            server.send(h11.EndOfMessage())
            if server.our_state is h11.MUST_CLOSE:
                break
            server.start_next_cycle()
    return found


@settings(max_examples=1500, deadline=None)
@given(st.lists(LINES, min_size=2, max_size=14), st.sampled_from([b"POST / HTTP/1.1", b"POST / HTTP/1.0"]))
def test_where_a_request_ends_is_where_another_library_ends_it(lines, first):
    """A proxy that ends it elsewhere would let a stranger's bytes pass as somebody's next request. To refuse more is no fault."""
    data = b"\r\n".join([first, b"Host: hub", *lines, b"", b""])
    ours = our_reading(data)
    assert their_reading(data)[: len(ours)] == ours
