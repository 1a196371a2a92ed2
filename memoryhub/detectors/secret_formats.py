"""The shapes that providers gave their keys: a literal beginning, then what must follow it.

A needle is looked up with `str.find`, the pattern is tried only where it stands: a hundred formats over 100 kB cost less than
one general regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .scanning import lowered, may_stand, once, places

_W = r"[A-Za-z0-9_-]"
_END = r"(?![A-Za-z0-9])"

# kind, needle, what follows the needle
_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("AWS access key", "AKIA", r"[A-Z0-9]{16}" + _END),
    ("AWS access key", "ASIA", r"[A-Z0-9]{16}" + _END),
    ("AWS Bedrock key", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}"),
    ("Anthropic key", "sk-ant-", rf"{_W}{{16,}}"),
    ("OpenRouter key", "sk-or-", rf"{_W}{{20,}}"),
    ("OpenAI key", "sk-proj-", rf"{_W}{{20,}}"),
    ("OpenAI key", "sk-svcacct-", rf"{_W}{{20,}}"),
    ("API key", "sk-", r"(?=[A-Za-z-]*\d)[A-Za-z0-9-]{18,}" + _END),
    ("Stripe key", "sk_live_", r"[A-Za-z0-9]{10,}"),
    ("Stripe key", "sk_test_", r"[A-Za-z0-9]{10,}"),
    ("Stripe key", "rk_live_", r"[A-Za-z0-9]{10,}"),
    ("Stripe key", "rk_test_", r"[A-Za-z0-9]{10,}"),
    ("webhook secret", "whsec_", r"[A-Za-z0-9+/=]{16,}"),
    ("GitHub token", "ghp_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "gho_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "ghu_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "ghs_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "ghr_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "github_pat_", r"\w{22,}"),
    ("GitLab token", "glpat-", rf"{_W}{{20,}}"),
    ("GitLab token", "gldt-", rf"{_W}{{20,}}"),
    ("GitLab token", "glrt-", rf"{_W}{{20,}}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-", rf"(?=\w*[A-Z0-9]){_W}{{30,}}"),
    ("RubyGems key", "rubygems_", r"[a-f0-9]{40,}"),
    ("Slack token", "xoxb-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xoxp-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xoxa-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xoxe.", r"[A-Za-z0-9.-]{10,}"),
    ("Slack token", "xoxs-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xapp-", r"\d-[A-Za-z0-9-]{10,}"),
    ("Slack webhook", "https://hooks.slack.com/services/", r"T\w{6,}/B\w{6,}/\w{16,}"),
    ("Slack webhook", "https://hooks.slack.com/workflows/", r"\w+/\w+/\d+/\w{16,}"),
    ("Discord webhook", "https://discord.com/api/webhooks/", rf"\d+/{_W}{{30,}}"),
    ("Discord webhook", "https://discordapp.com/api/webhooks/", rf"\d+/{_W}{{30,}}"),
    ("Teams webhook", ".webhook.office.com/webhookb2/", r"[\w@-]+/IncomingWebhook/\w+/[\w-]+"),
    ("Google key", "AIza", rf"{_W}{{35}}"),
    ("Google OAuth token", "ya29.", rf"{_W}{{20,}}"),
    ("Google client secret", "GOCSPX-", rf"{_W}{{20,}}"),
    ("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("Replicate token", "r8_", r"[A-Za-z0-9]{30,}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{30,}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{30,}"),
    ("Perplexity key", "pplx-", r"[A-Za-z0-9]{30,}"),
    ("Tavily key", "tvly-", rf"{_W}{{20,}}"),
    ("LangSmith key", "lsv2_", r"[a-z]{2}_\w{32,}"),
    ("SendGrid key", "SG.", rf"{_W}{{16,}}\.{_W}{{16,}}"),
    ("Mailgun key", "key-", r"[0-9a-f]{32}" + _END),
    ("Twilio key", "SK", r"[0-9a-f]{32}" + _END),
    ("Twilio account", "AC", r"[0-9a-f]{32}" + _END),
    ("Vault token", "s.", r"[A-Za-z0-9]{24}" + _END),
    ("Shopify token", "shpat_", r"[a-fA-F0-9]{32}"),
    ("Shopify token", "shpss_", r"[a-fA-F0-9]{32}"),
    ("Shopify token", "shpca_", r"[a-fA-F0-9]{32}"),
    ("Square token", "sq0atp-", rf"{_W}{{22}}"),
    ("Square token", "sq0csp-", rf"{_W}{{43}}"),
    ("Square token", "EAAA", rf"{_W}{{60}}"),
    ("Facebook token", "EAAC", r"[A-Za-z0-9]{60,}"),
    ("PayPal token", "access_token$production$", r"\w{16}\$\w{32}"),
    ("DigitalOcean token", "dop_v1_", r"[a-f0-9]{40,}"),
    ("DigitalOcean token", "doo_v1_", r"[a-f0-9]{40,}"),
    ("Docker token", "dckr_pat_", rf"{_W}{{20,}}"),
    ("Databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?" + _END),
    ("Doppler token", "dp.pt.", r"[A-Za-z0-9]{40,}"),
    ("Doppler token", "dp.st.", r"[\w.]{40,}"),
    ("Vault token", "hvs.", rf"{_W}{{24,}}"),
    ("Vault token", "hvb.", rf"{_W}{{24,}}"),
    ("Terraform token", ".atlasv1.", rf"{_W}{{50,}}"),
    ("Pulumi token", "pul-", r"[a-f0-9]{40}"),
    ("Grafana token", "glsa_", r"\w{32,}"),
    ("Grafana token", "glc_", r"[A-Za-z0-9+/=]{32,}"),
    ("Sentry token", "sntrys_", r"[\w+/=]{40,}"),
    ("Sentry token", "sntryu_", r"[a-f0-9]{60,}"),
    ("New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    ("Postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("Linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    ("Notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("Notion token", "secret_", r"[A-Za-z0-9]{43}" + _END),
    ("Figma token", "figd_", rf"{_W}{{36,}}"),
    ("Atlassian token", "ATATT3", r"[\w=-]{60,}"),
    ("Atlassian token", "ATCTT3", r"[\w=-]{60,}"),
    ("Bitbucket token", "ATBB", r"[A-Za-z0-9]{24,}" + _END),
    ("Supabase token", "sbp_", r"[a-f0-9]{40}"),
    ("Supabase key", "sb_secret_", rf"{_W}{{20,}}"),
    ("PlanetScale token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    ("Netlify token", "nfp_", r"[A-Za-z0-9]{36,}"),
    ("Fly token", "FlyV1 ", r"fm\d_[\w+/=,-]{40,}"),
    ("Fly token", "fo1_", r"[\w-]{40,}"),
    ("Heroku key", "HRKU-", r"[\w-]{36,}"),
    ("Tailscale key", "tskey-", r"[a-z]+-\w{10,}(?:-\w+)?"),
    ("Cloudflare key", "v1.0-", r"[a-f0-9]{24}-[a-f0-9]{100,}"),
    ("Contentful token", "CFPAT-", rf"{_W}{{40,}}"),
    ("Airtable token", "pat", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("Dropbox token", "sl.", rf"{_W}{{120,}}"),
    ("1Password token", "ops_eyJ", rf"{_W}{{100,}}"),
    ("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    ("Dynatrace token", "dt0c01.", r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{60,}"),
    ("memoryhub token", "mh_", r"[A-Za-z0-9_-]{24,}"),
    ("JSON web token", "eyJ", rf"{_W}{{8,}}\.eyJ{_W}{{8,}}(?:\.{_W}{{6,}})?"),
    ("Azure key", "AccountKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("Azure key", "SharedAccessKey=", r"[A-Za-z0-9+/]{30,}={0,2}"),
    ("Azure signature", "sig=", r"[A-Za-z0-9%+/]{40,}(?:%3D|=)*"),
    ("private key", "-----BEGIN ", r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,8000}?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"),
    ("private key", "PuTTY-User-Key-File-", r"\d: [\s\S]{0,8000}?Private-MAC: \w+"),
)  # fmt: skip
_COMPILED = [
    (kind, needle, re.compile(re.escape(needle) + rest)) for kind, needle, rest in _PREFIXED if needle != "-us"
]
_JOINED = (".webhook.office.com/webhookb2/", ".atlasv1.", "sig=", "-----BEGIN ", "AccountKey=", "SharedAccessKey=")

_LINK = re.compile(r"(?<=://)(?P<user>[^\s:/@\"'`<>]{0,80}):(?P<secret>[^\s@\"'`<>]{3,200})@(?P<host>[\w.\-\[\]]+)")
_HEADER = re.compile(
    r"authorization[\"'`]?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:basic|bearer|token|digest)\s+(?P<secret>[A-Za-z0-9+/=_.~-]{12,})",
    re.I,
)
_USERPASS = re.compile(r"(?:\s|^)(?:-u|--user)[ =][\"']?[\w.@+-]{1,60}:(?P<secret>(?!//)[^\s\"'`]{4,100})")
_PAIR = re.compile(
    r"(?:credentials?|creds|log\s?in|sign\s?in|access|account)\b[^\n]{0,40}?\b[\w.@-]{2,40}\s?[:/]\s?(?P<secret>(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[^\s/:,;`\"']{7,60})(?=[\s,;`\"']|$)",
    re.I,
)
_CONNECTION = re.compile(
    r"(?:user\s?id|uid|user|username)=[^;\s]+;\s?(?:password|pwd)=(?P<secret>[^;\s\"']{4,80})", re.I
)
_MYSQL = re.compile(r"\bmysql(?:dump|admin)?\s(?:[^\n]{0,60}?\s)?-p(?P<secret>[^\s\"'`-][^\s\"'`]{3,60})")
_MAILCHIMP = re.compile(r"\b(?P<secret>[0-9a-f]{32}-us\d{1,2})")
_TELEGRAM = re.compile(r"\b(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,34})")
_DISCORD = re.compile(r"\b(?P<secret>[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})")
_SEED = re.compile(
    r"(?:seed|mnemonic|recovery)(?:[ _-]?(?:phrase|words))?[\"'`*]{0,3}\s*(?:is|=|:)\s*[\"'`]?(?P<secret>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
    re.I,
)
_SQL = re.compile(r"identified by\s+[\"'](?P<secret>[^\"'\s]{4,100})[\"']", re.I)
_FILLER = re.compile(
    r"^\[|^env\.|\^|^[a-z]+(?:-[a-z]+)+$|^(?:v\d-)?[a-z]+\d?(?:-[a-z]+\d?)+$|^[xX*.•0_-]+$|x{6,}|X{6,}|\*{3,}|(?<![A-Za-z0-9])your|YOUR|abc_?123|example|placeholder|<|\.\.\.|\$\{|^\$|^%|\{"
)
_EMPTY_KEY = re.compile(r"X{4,}|\.\.\.|…|<|\$\{|(?<![A-Za-z0-9])your")
_WELL_KNOWN = frozenset(
    [
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "postgres",
        "root",
        "admin",
        "user",
        "username",
        "test",
        "guest",
        "mysql",
        "redis",
        "rabbitmq",
        "mongo",
        "mongodb",
        "minio",
        "minioadmin",
        "dev",
        "changeme",
        "example",
        "token",
        "local",
        "localhost",
    ]
)


def formats(text: str, words: str = "") -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of everything with a provider's shape; `words` are those of the text, each once."""
    words = words or once(text)
    yield from _by_prefix(text, words)
    yield from _links(text)
    lower, words = lowered(text), lowered(words)
    for kind, pattern, needles, reach in _RARE:
        looked = 0  # nothing begins before it: a needle in every word is no reason to look at the same stretch again
        for at in sorted(set(places(lower, needles, words))):
            if at + reach < looked:
                continue
            match = pattern.search(text, max(0, at - reach), at + 400)
            looked = match.end() if match else at + 200
            if match and _is_one(match):
                yield (*match.span("secret"), kind)


def _is_one(match: re.Match[str]) -> bool:
    return not _FILLER.search(match["secret"][:80]) and match["secret"].lower() not in _WELL_KNOWN


# kind, pattern, lower-case needles, how far before the needle it may begin
_RARE: tuple[tuple[str, re.Pattern[str], tuple[str, ...], int], ...] = (
    ("authorization header", _HEADER, ("authorization",), 0),
    ("password", _USERPASS, (" -u ", " -u=", "--user ", "--user="), 1),
    ("Mailchimp key", _MAILCHIMP, ("-us",), 33),
    ("Telegram bot token", _TELEGRAM, (":aa",), 11),
    ("Discord bot token", _DISCORD, ("discord", "bot token", "bot_token"), 0),
    ("seed phrase", _SEED, ("seed", "mnemonic", "recovery"), 0),
    ("password", _SQL, ("identified by",), 0),
    ("password", _PAIR, ("credential", "creds ", "log in", "login ", "sign in"), 0),
    ("password", _CONNECTION, ("password=", "pwd="), 60),
    ("password", _MYSQL, ("mysql",), 0),
)


# Nearly every key is one long word, and prose has few of those: looked through first, they spare a hundred searches.
_LONG = 14
_WITH_BLANKS = frozenset(
    needle for _, needle, pattern in _COMPILED if " " in pattern.pattern or "\\s" in pattern.pattern
)


def _by_prefix(text: str, words: str) -> Iterator[tuple[int, int, str]]:
    long = "\n".join(word for word in words.split("\n") if len(word) >= _LONG)
    is_split = "+" in words or "\\" in words
    for kind, needle, pattern in _COMPILED:
        at = text.find(needle) if may_stand(needle, words if needle in _WITH_BLANKS or is_split else long) else -1
        joined = 0  # nothing is put together twice
        while at >= 0:
            match = pattern.match(text, at) if needle in _JOINED or not _inside(text, at, needle) else None
            if match and not (_EMPTY_KEY if kind == "private key" else _FILLER).search(match.group()[len(needle) :]):
                yield (at, _over_seams(text, match.end()), kind)
            elif match is None and at >= joined and len(needle) >= _TELLING and not _inside(text, at, needle):
                joined = at + _SPLIT_REACH
                if end := _split(text, at, pattern):
                    yield (at, end, kind)
            at = text.find(needle, match.end() if match else at + 1)


_TELLING = 4
_SPLIT_REACH = 320
_SEAM = re.compile(r"[ \t]*\\?[ \t]*\n[ \t>*#]*|[\"'`][ \t]*(?:\+[ \t\n]*|\\[ \t]*\n[ \t]*)[\"'`]")


# The rest of a key: after a seam that says so, or a line of nothing but such signs.
_REST = re.compile(
    r"[\"'`]?[ \t]*(?:\\[ \t]*\n[ \t]*|\+[ \t\n]*)[\"'`]?[A-Za-z0-9+/=_-]{4,200}|"
    r"[ \t]*\n[ \t]*(?=[A-Za-z+/=_-]{0,60}\d)(?=[\d+/=_-]{0,60}[A-Za-z])[A-Za-z0-9+/=_-]{20,200}(?=\s|$)"
)


def _over_seams(text: str, end: int) -> int:
    """The end of a key that goes on after its shape is full."""
    for _ in range(4):
        rest = _REST.match(text, end)
        if rest is None:
            break
        end = rest.end()
    return end


def _split(text: str, at: int, pattern: re.Pattern[str]) -> int:
    """Where a key ends that was cut by a line's end or put together from pieces; 0 where there is none."""
    piece = text[at : at + _SPLIT_REACH]
    seams = [match.span() for match in _SEAM.finditer(piece)][:4]
    whole = piece
    for start, end in reversed(seams):
        whole = whole[:start] + whole[end:]
    match = pattern.match(whole) if seams else None
    if match is None or _FILLER.search(match.group()):
        return 0
    length = match.end()
    for start, end in seams:
        if start < length:
            length += end - start
    return at + length


_ORDINARY = frozenset(["sk-", "key-", "pat", "pypi-", "secret_", "sl.", "s."])
"""Needles that names of things have as well: after a hyphen they begin nothing."""


def _inside(text: str, at: int, needle: str) -> bool:
    """A needle in the middle of a word (`task-…` has `sk-`) begins nothing."""
    before = text[at - 1 : at]
    is_joined = before in ("_", "-") and (needle in _ORDINARY or len(needle) < _TELLING)
    return bool(before) and (before.isalnum() or is_joined)


def _links(text: str) -> Iterator[tuple[int, int, str]]:
    """The password in `scheme://user:password@host`."""
    at = text.find("://")
    while at >= 0:
        match = _LINK.match(text, at + 3)
        if (
            match
            and not _FILLER.search(match["secret"])
            and match["secret"].lower() not in _WELL_KNOWN
            and match["host"] != "host"
            and match["secret"] != match["user"]
        ):
            yield (*match.span("secret"), "connection string")
        at = text.find("://", at + 3)
