"""Secrets: what is found and where, and what only resembles one."""

from __future__ import annotations

import base64

from memoryhub.detectors import secrets
from tests.cases import for_each
from tests.detectors import findings_of
from tests.fixtures.secret_texts import CLEAN_LINES, HEX, made, secret_lines

KEY = "gh" + "p_" + made(36)


def test_a_secret_is_found_at_its_place_and_never_repeated_in_the_message() -> None:
    (one,) = findings_of("secrets", f"first\n- token: {KEY}\n")
    assert (one.kind, one.line, one.severity) == ("GitHub token", 2, "high")
    assert f"first\n- token: {KEY}\n"[one.start : one.end] == KEY
    assert KEY not in one.message and KEY not in str(one.as_json())


def test_three_quarters_of_secrets_are_found_and_no_plain_line_is_taken_for_one() -> None:
    lines = secret_lines()
    found = [
        line
        for line, value in lines
        if any(line[f.start : f.end] in value or value in line[f.start : f.end] for f in findings_of("secrets", line))
    ]
    assert len(found) >= 0.75 * len(lines), sorted({line for line, _ in lines} - set(found))
    assert [line for line in CLEAN_LINES if findings_of("secrets", line)] == []


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OPEN = made(80)
SMALL = "bcdfgjkmpqvxz2479"
LETTERS = "qWzRtKpLxVbN"
DIGITS = "0123456789"


@for_each([(f"key {KEY[:20]}\n{KEY[20:]} end", KEY[20:]), (f'x = "{KEY[:10]}" + "{KEY[10:]}"', KEY[10:]), (f"k=sk-ant-api03-{OPEN[:40]}\\\n{OPEN[40:]}\n", OPEN[40:]),
     (f"echo {b64(f'token: {KEY}')} | base64 -d", b64(f"token: {KEY}")), ('kind: Secret\ndata: ' + b64('{"password": "kT9#vLq2xx"}'), b64('{"password": "kT9#vLq2xx"}')),
     (f"{KEY[:12]}\u200b{KEY[12:]}", KEY[12:]), (f"SHOP_KEY={made(32)}", made(32)), (f'"geoKey": "{made(32, HEX)}"', made(32, HEX)), (f"https://maps.example.org/?q=a&key={made(32)}&x=1", made(32)),
     (f"The wiki password: {LETTERS}", LETTERS), (f"api_key: {made(24, SMALL)}", made(24, SMALL)), (f"sk-proj-{made(20)}your{made(20)}", made(20))])  # fmt: skip
def test_a_secret_is_found_however_it_is_written(text: str, secret: str) -> None:
    redacted, found = secrets.redact(text)
    assert found and secret not in redacted


@for_each(["signIn({ password: 'StrongPass123!' })", "```yaml\npassword: MyPassword2024\n```", "account.login = \"clerk@example.org\"", "the modes 'single pass', 'check+mend', 'best-of-9'",
     "document.cookie = 'session=abc123'", "header: sk_live_abc123", "tokens per batch: training_tokens=250_000_000", "tokenizer of `acme/Small-3.5-Q4`, encodings a100k_base/b200k_base",
     "model(name=\"tiny2-large-2025-03\", token=\"<token>\")", "The token's contract is 0x52908400098527886E0F7030069857D2E4169EE7", "partition_key: 8f14e45fceea167a5a36dedd4bea2543", "Is the password excluded! Then stop.",
     'probe -u "http://shop.example.org/list?id=1" --all', "postgres://shopkeeper:shopkeeper@localhost/shop", "export SHOP='sk-or-v1-second-project2'\n\n# More",
     "Authorization: Bearer dev-clerk-token", "POST /forgot-password HTTP/1.1", 'key="plans/2025/may/first_draft_001.h5"',
     b64("This is a long and harmless sentence about tokens and keys."), f"`{KEY[:4]}`\n- {made(12)}"])  # fmt: skip
def test_what_only_resembles_a_secret_is_none(text: str) -> None:
    assert findings_of("secrets", text) == []


@for_each(["| `pass` rate | `Rates.cc:69-70` |", "Reviews that bypass it -> `bookkeeping-rules2!`", "PASS: rate-set2-1, rate-set3-1", "login: `shop-keeper login board`", "the token «MAIL_007» stands for it",
     "cat /etc/passwd | base64).sink.example", "**Token**: base64-encoded list", "TOKEN=sv=2031-06-08&ss=b&srt=co...", "IDENTIFIED BY 'ClientSecret'", "curl -u clerk@example.org:API_TOKEN https://shop.example.org",
     '{"id": "de45d2ed777780c96c0deae7a220b745", "api_key": "your-key"}', "X-API-Key: sk_live_abc123def456", "secret:us-east-1:123456789012:production", "Admin (or EKS+RDS+IAM+S3+EC2) creds",
     "Credential=.../.../s3/aws4_request", "API_KEY=secret-key-12345", "api_key: tea_shop_secret_key_2025", "{ token: 'valid-token-123' }",
     "**Shell passthrough**: `!command9`", "-e NEO4J_AUTH=neo4j/password neo4j:5-community",
     "| `TEA_API_KEY` | `MiniTea-M2.7` |", "| `CredentialError` | `SSLContextError` |", "login successful: user_id=123",
     "http://localhost:80#@shop.example.org/", "run --user 10001:10001 shop:latest", "Authorization: Bearer invalid-token-12345", "a key such as `sk-ant-manual-test-12345`", "grep 'secret|password|connection[_-]?string'",
     "path, token = sys.argv[1:4]", "data:\n  db-password: cGFzc3dvcmQxMjM=", "Secret: `1x0000000000000000000000000000000AA`", "SSEKMSKeyId='arn:aws:kms:us-east-1:123456789012:key/shop-key'",
     "one credential: `LIVE_E2E_SHOP_API_KEY`", "Credentials: `E2B_API_KEY` or `~/.shop/e2b_api_key`", "with credentials: `clerk@example.org` / `test`", "PASS: 全体の成功率 > 95%", "each credential is *flagged* at once",
     "| password | bcrypt/argon2 |", "`pulumi config set dbPassword hunter2`", "connection string | `postgres://user:pass@host:5432/db`", "- **API-login validation / Azure-JWT warning / uuid4**",
     f"- uses: shop/configure-credentials@{made(40, HEX)}  # v4", "author: x\ndescription: ERC-20/721/1155/4626, standards of a token", f'tokenAddress: "{made(44)}", amount: 1', f"mnemonic: {'test ' * 11}junk", "| Handling credentials or SSH | `docs/fs/03-remote-ssh.md` |",
     "source with a token: QmXbfEAaR7D2Ujm4GAkbwcGZQMHqAMpwDoje4583uNP834", "the password is 120-char random", "`tokenizer_absent`: `cl100k_base` was asked", "pin: 'teapot-1.6.0'"])  # fmt: skip
def test_what_stands_beside_a_name_for_secrets_is_often_none(text: str) -> None:
    assert findings_of("secrets", text) == []


@for_each([f"p8e-{made(32, SMALL)}", f"dnkey-{made(26, SMALL)}-{made(52, SMALL)}", f"fio-u-{made(64)}", f"xkeysib-{made(64, HEX)}-{made(16)}", f"access-production-{made(8, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(12, HEX)}",
     f"{made(5, DIGITS)}:A{made(34)}", f"aB3{DIGITS[7]}Q~{made(34)}", f"{made(8, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(4, HEX)}-{made(12, HEX)}:fx", "api_token = \"" + made(16, DIGITS) + '"', f"shop_token: {LETTERS}", f"BUNDLE_GEMS__TEASHOP__ORG={made(8, HEX)}:{made(8, HEX)}"])  # fmt: skip
def test_a_key_is_known_by_its_shape_or_its_name(secret: str) -> None:
    assert findings_of("secrets", f"telegram: {secret} is ours")


def test_redacting_leaves_nothing_of_any_found_secret() -> None:
    for line, value in secret_lines():
        text, found = secrets.redact(line)
        assert not found or value not in text
        assert all(f"[secret removed: {one.kind}]" in text for one in found)
    assert secrets.redact("nothing here") == ("nothing here", [])
