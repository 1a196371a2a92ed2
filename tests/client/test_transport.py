"""What the client sends through, against peers that speak HTTP well, badly or not at all. Both ways of waiting have each test."""

import asyncio
import contextlib
import datetime
import gzip
import ipaddress
import os
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from memoryhub.client import HubUnavailable, MemoryHub, http1, transport
from memoryhub.client.http1 import Failed, NotSent, Request, TooMuch, TooSlow, header_lines
from memoryhub.client.transport import AsyncTransport, Transport

OK = b"HTTP/1.1 200 OK\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
GET = Request("GET", "/x", b"")


class Peer:
    """Listens; for each request it sends the next answer, or lets it speak for itself; the last one repeats."""

    def __init__(self, *answers, context=None, host="127.0.0.1"):
        self.answers, self.context, self.asked, self.connections = [*answers], context, [], 0
        self.listening = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port = self.listening.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{name}:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self.listening.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        with contextlib.suppress(OSError), sock:
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            while head := read_head(sock):
                self.asked.append(head)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if callable(answer):
                    answer(sock, head)
                else:
                    sock.sendall(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)  # `accept` would take one more
        self.listening.close()


def read_head(sock):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if not (byte := sock.recv(1)):
            return b""
        head += byte
    return head


def read_body(sock, head):
    left = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while left:
        left -= len(sock.recv(min(left, 65536)))


class Asking:
    """A transport that is called the same way, whichever it is."""

    def __init__(self, way, loop):
        self.way, self.loop, self.made = way, loop, []

    def __call__(self, url, proxy=None, timeout=2.0):
        self.made.append(self.way(url, proxy, [("User-Agent", "test")], timeout))
        return self

    def ask(self, request=GET):
        answer = self.made[-1].exchange(request)
        return answer if self.loop is None else self.loop.run_until_complete(answer)


@pytest.fixture(params=[Transport, AsyncTransport])
def to(request):
    loop = asyncio.new_event_loop() if request.param is AsyncTransport else None
    asking = Asking(request.param, loop)
    yield asking
    for made in asking.made:
        made.close()
    if loop:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def then_ends(data):
    def answer(sock, head):
        sock.sendall(data)
        sock.close()

    return answer


def in_bytes(data):
    def answer(sock, head):
        for at in range(len(data)):
            sock.sendall(data[at : at + 1])

    return answer


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nTrailer: x\r\n\r\n"
PACKED = gzip.compress(b"hello")


@pytest.mark.parametrize(
    ("answer", "is_kept"),
    [
        (HELLO, True),
        (in_bytes(HELLO), True),
        (CHUNKED, True),
        (in_bytes(CHUNKED), True),
        (then_ends(OK + b"\r\nhello"), False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HELLO, True),
        (OK + b"Content-Length: 5, 5\r\nX: \xff\r\n\r\nhello", True),
        (OK + b"Content-Length: 5\r\nConnection: X, Close\r\n\r\nhello", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
        (b"HTTP/1.0 200\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello", True),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED) + PACKED, True),
        (HELLO + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", False),
        (OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", False),
    ],
)
def test_whole_answers(to, answer, is_kept):
    with Peer(answer) as peer:
        to(peer.url)
        for _ in range(2):
            status, _, body = to.ask()
            assert (status, body) == (200, b"hello")
        assert peer.connections == (1 if is_kept else 2)
        assert peer.asked[1] == f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{peer.port}\r\nUser-Agent: test\r\n\r\n".encode()


def test_headers_that_come_twice_and_an_answer_without_a_body(to):
    with Peer(b"HTTP/1.1 304 Not Modified\r\nVary: a\r\nvary:\tb \r\nContent-Length: 7\r\n\r\n") as peer:
        to(peer.url)
        assert to.ask() == to.ask() == (304, {"vary": "a, b", "content-length": "7"}, b"")
        assert peer.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 9\r\n\r\nhello",
        OK + b"Content-Len",
        b"",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        OK + b": nameless\r\n\r\n",
        OK + b"A B: x\r\n\r\n",
        OK + b"X: a\r\n folded\r\n\r\n",
        *(
            OK + b"Content-Length: %s\r\n\r\nhello" % length
            for length in (b"-5", b"+5", b"5_0", b"", b"5, 6", b"9" * 5000)
        ),
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\n" + PACKED[:9],
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"X: " + b"y" * 200_000,
    ],
)
def test_no_answer_is_made_of_half_a_one(to, answer):
    with Peer(then_ends(answer)) as peer:
        with pytest.raises(Failed) as refused:
            to(peer.url).ask()
        assert refused.type is Failed
        assert not to.made[-1]._idle


def test_more_than_any_hub_answers(to, monkeypatch):
    monkeypatch.setattr(http1, "MAX_ANSWER", 1000)
    bomb = gzip.compress(bytes(1_000_000))[:1000]
    endless = b"Transfer-Encoding: chunked\r\n\r\n" + b"1f4\r\n%s\r\n" % bytes(500) * 3
    for rest in (
        b"Content-Length: 1001\r\n\r\n",
        endless,
        b"\r\n" + bytes(1001),
        b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb,
    ):
        with Peer(then_ends(OK + rest)) as peer, pytest.raises(TooMuch):
            to(peer.url).ask()


def test_a_large_body_both_ways(to):
    sent = os.urandom(6_000_000)

    def back(sock, head):
        read_body(sock, head)
        sock.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(sent) + sent)

    with Peer(back) as peer:
        request = Request("PUT", "/x", header_lines([("Content-Length", str(len(sent)))]), sent)
        assert to(peer.url).ask(request)[2] == sent


def test_an_answer_before_the_whole_body_was_read(to):
    """A hub refuses a body that is too large by its length, and closes."""

    def refuses(sock, head):
        sock.sendall(b"HTTP/1.1 413 Too large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        sock.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while sock.recv(65536):
                pass

    with Peer(refuses) as peer:
        request = Request("PUT", "/x", header_lines([("Content-Length", "9000000")]), bytes(9_000_000))
        assert to(peer.url).ask(request)[::2] == (413, b"no")


@pytest.mark.parametrize("ends", [socket.SHUT_RDWR, socket.SHUT_WR])
def test_a_connection_that_was_closed_between_two_calls(to, ends):
    def answers_and_goes(sock, head):
        sock.sendall(HELLO)
        sock.shutdown(ends)

    with Peer(answers_and_goes) as peer:
        to(peer.url)
        for count in (1, 2):
            to.ask()
            assert until(lambda: not to.made[-1]._idle[-1].is_usable())
            assert peer.connections == count


def until(holds):
    deadline = time.monotonic() + 5
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def test_a_connection_that_waited_too_long_is_not_taken(to, monkeypatch):
    monkeypatch.setattr(transport, "IDLE_SECONDS", 0)
    with Peer(HELLO) as peer:
        to(peer.url)
        to.ask(), to.ask()
        assert peer.connections == 2


@pytest.mark.parametrize(
    "start", [b"", OK, OK + b"Content-Length: 9\r\n\r\nhel", OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe"]
)
def test_a_peer_that_stalls(to, start):
    def stalls(sock, head):
        sock.sendall(start)
        sock.recv(1)

    with Peer(stalls) as peer:
        began = time.monotonic()
        with pytest.raises(TooSlow):
            to(peer.url, timeout=0.2).ask()
        assert 0.2 <= time.monotonic() - began < 1.5


def test_a_peer_that_drips_or_never_reads(to):
    def drips(sock, head):
        with contextlib.suppress(OSError):
            sock.sendall(OK + b"Content-Length: 999\r\n\r\n")
            while True:
                sock.sendall(b"x")
                time.sleep(0.02)

    request = Request("PUT", "/x", header_lines([("Content-Length", "90000000")]), bytes(90_000_000))
    for answer, asked in ((drips, GET), (lambda sock, head: time.sleep(2), request)):
        with Peer(answer) as peer, pytest.raises(TooSlow):
            to(peer.url, timeout=0.3).ask(asked)


def test_nobody_listens_or_nobody_has_the_name(to):
    with Peer(HELLO) as peer:
        pass
    for url in (peer.url, "http://no-such-host.invalid", f"http://{'a' * 70}.example"):
        with pytest.raises(NotSent):
            to(url).ask()


def test_an_address_in_ipv6(to):
    with Peer(HELLO, host="::1") as peer:
        assert to(peer.url).ask()[0] == 200
        assert f"\r\nHost: [::1]:{peer.port}\r\n".encode() in peer.asked[0]


# TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """The file of an authority of our own, and what a server for 127.0.0.1 needs."""
    folder, now = tmp_path_factory.mktemp("tls"), datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, one)]) for one in ("authority", "hub")]
    found = []
    for key, name in zip(keys, names, strict=True):
        made = x509.CertificateBuilder().subject_name(name).issuer_name(names[0]).public_key(key.public_key())
        made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        made = made.not_valid_after(now + datetime.timedelta(days=1))
        made = made.add_extension(x509.BasicConstraints(ca=not found, path_length=None), critical=True)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        made = made.add_extension(address, critical=False)
        found.append(made.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    secret = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "ca.pem").write_bytes(found[0])
    (folder / "hub.pem").write_bytes(secret + found[1])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "hub.pem")
    return str(folder / "ca.pem"), context


def test_tls_by_an_authority_that_the_environment_names(to, authority, monkeypatch):
    with Peer(HELLO, CHUNKED, then_ends(OK + b"\r\nhello"), HELLO, context=authority[1]) as peer:
        with pytest.raises(NotSent, match="CERTIFICATE_VERIFY_FAILED"):
            to(peer.url).ask()
        monkeypatch.setenv("SSL_CERT_FILE", authority[0])
        with pytest.raises(NotSent, match="localhost"):  # another name than the certificate has
            to(peer.url.replace("127.0.0.1", "localhost")).ask()
        with pytest.raises(HubUnavailable, match=r"TLS with https.* failed: .*VERIFY.*SSL_CERT_FILE"):
            MemoryHub(peer.url.replace("127.0.0.1", "localhost"), "mh_x", retries=0).edit("/a.md", "a", "b")
        before = peer.connections
        to(peer.url)
        assert [to.ask()[2] for _ in range(4)] == [b"hello"] * 4
        assert peer.connections - before == 2  # the third answer ended the first
        monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
        with pytest.raises(HubUnavailable, match=r"TLS with .* No such file"):
            MemoryHub(peer.url, "mh_x", retries=0).edit("/a.md", "a", "b")


def test_a_large_body_over_tls(to, authority, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", authority[0])
    sent = os.urandom(3_000_000)

    def back(sock, head):
        read_body(sock, head)
        sock.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(sent) + sent)

    with Peer(back, context=authority[1]) as peer:
        request = Request("PUT", "/x", header_lines([("Content-Length", str(len(sent)))]), sent)
        assert to(peer.url).ask(request)[2] == sent


# Proxies


def tunnel(sock, head):
    """What a proxy does after CONNECT: passes on bytes both ways."""
    place = head.split()[1].decode()
    host, _, port = place.rpartition(":")
    with socket.create_connection((host, int(port))) as onward:
        sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=passed_on, args=(onward, sock), daemon=True)
        back.start()
        passed_on(sock, onward)
        back.join(5)


def passed_on(here, there):
    with contextlib.suppress(OSError):
        while data := here.recv(65536):
            there.sendall(data)
        there.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("is_encrypted", [False, True])
def test_through_a_proxy_to_an_encrypted_hub(to, authority, monkeypatch, is_encrypted):
    monkeypatch.setenv("SSL_CERT_FILE", authority[0])
    with (
        Peer(HELLO, context=authority[1]) as hub,
        Peer(tunnel, context=authority[1] if is_encrypted else None) as proxy,
    ):
        to(hub.url, proxy=proxy.url.replace("://", "://me:p%40ss@"))
        assert [to.ask()[2] for _ in range(2)] == [b"hello"] * 2
        place = f"127.0.0.1:{hub.port}"
        assert proxy.asked == [
            f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n\r\n".encode()
        ]
        assert b"Proxy-Authorization" not in hub.asked[0] and hub.asked[0].startswith(b"GET /x HTTP/1.1\r\n")


def test_a_proxy_that_refuses(to):
    with Peer(b"HTTP/1.1 407 Who are you\r\n\r\n") as proxy, pytest.raises(NotSent, match="407"):
        to("https://hub.example", proxy=proxy.url).ask()


def test_a_proxy_of_another_kind_is_named(to):
    with pytest.raises(ValueError, match="must begin with http"):
        to("http://hub.example", proxy="socks5://127.0.0.1:1080")


# Several at once


def echo(sock, head):
    time.sleep(0.001)
    path = head.split()[1]
    sock.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(path) + path)


def asked(number):
    return Request("GET", f"/{'x' * (number % 7)}{number}", b"")


def test_sixteen_threads_share_one_client():
    with Peer(echo) as peer, contextlib.closing(Transport(peer.url, None, [], 10)) as one:
        with ThreadPoolExecutor(16) as threads:
            answers = [*threads.map(lambda number: one.exchange(asked(number)), range(400))]
        assert [body.decode() for _, _, body in answers] == [asked(number).target for number in range(400)]
        assert peer.connections <= 40 and len(one._idle) <= transport.MAX_IDLE


def test_many_tasks_share_one_client_and_some_are_cancelled():
    async def story(one):
        early = [asyncio.create_task(one.exchange(asked(number))) for number in range(20)]
        await asyncio.sleep(0.01)
        for task in early[::2]:
            task.cancel()
        await asyncio.gather(*early, return_exceptions=True)
        answers = await asyncio.gather(*(one.exchange(asked(number)) for number in range(100)))
        return [body.decode() for _, _, body in answers]

    with Peer(echo) as peer, contextlib.closing(AsyncTransport(peer.url, None, [], 10)) as one:
        assert asyncio.run(story(one)) == [asked(number).target for number in range(100)]


def test_after_a_fork_each_process_has_connections_of_its_own():
    with Peer(echo) as peer, contextlib.closing(Transport(peer.url, None, [], 10)) as one:
        one.exchange(asked(1))
        child = os.fork()
        if not child:
            is_right = all(one.exchange(asked(number))[2].decode() == asked(number).target for number in range(20))
            os._exit(0 if is_right else 1)
        for number in range(20, 60):
            assert one.exchange(asked(number))[2].decode() == asked(number).target
        assert os.waitpid(child, 0)[1] == 0
        assert peer.connections == 2
