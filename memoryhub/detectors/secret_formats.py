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
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

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
    ("Adobe secret", "p8e-", r"[a-z0-9]{32}" + _END),
    ("Alibaba key", "LTAI", r"(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{16,24}" + _END),
    ("Clojars token", "CLOJARS_", r"[a-z0-9]{60}"),
    ("Defined token", "dnkey-", r"[a-z0-9=_-]{26}-[a-z0-9=_-]{52}"),
    ("Duffel token", "duffel_", r"(?:test|live)_[\w=-]{43}"),
    ("EasyPost key", "EZAK", r"[A-Za-z0-9]{54}"),
    ("EasyPost key", "EZTK", r"[A-Za-z0-9]{54}"),
    ("Flutterwave key", "FLWSECK", r"(?:_TEST)?-[a-z0-9]{12,40}-?X?"),
    ("Frame.io token", "fio-u-", r"[\w=-]{64}"),
    ("live token", "live_", r"(?=[a-z]{0,20}\d)(?:[a-f0-9]{35}|[a-z0-9_=-]{40})" + _END),
    ("Harness token", "pat.", r"[\w-]{22}\.[0-9a-fA-F]{24}\.\w{20}"),
    ("Infracost key", "ico-", r"[A-Za-z0-9]{32}" + _END),
    ("42 secret", "s-s4t2", r"(?:ud|af)-[a-f0-9]{64}"),
    ("JFrog key", "AKCp", r"[A-Za-z0-9]{60,}"),
    ("JFrog token", "cmVmd", r"[A-Za-z0-9]{59}"),
    ("Mapbox token", "sk.eyJ", rf"{_W}{{40,}}\.{_W}{{20,}}"),
    ("New Relic key", "NRII-", rf"{_W}{{32}}"),
    ("Octopus key", "API-", r"(?=[A-Z]{0,20}\d)[A-Z0-9]{26}" + _END),
    ("OpenShift token", "sha256~", rf"{_W}{{43}}"),
    ("Plaid token", "access-", rf"(?:sandbox|development|production)-{_UUID}"),
    ("Prefect key", "pnu_", r"[A-Za-z0-9]{36}"),
    ("ReadMe key", "rdme_", r"[a-z0-9]{70}"),
    ("Scalingo token", "tk-us-", rf"{_W}{{48}}"),
    ("Brevo key", "xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("SettleMint token", "sm_", r"(?:aat|pat|sat)_[A-Za-z0-9]{16}"),
    ("Shippo token", "shippo_", r"(?:live|test)_[a-fA-F0-9]{40}"),
    ("Sourcegraph token", "sgp_", r"(?:[a-f0-9]{16}_)?[a-f0-9]{40}"),
    ("Typeform token", "tfp_", r"[\w.=-]{40,}"),
    ("Yandex token", "t1.", rf"{_W}{{20,}}={{0,2}}\.{_W}{{80,}}={{0,2}}"),
    ("Yandex key", "AQVN", rf"{_W}{{35,38}}"),
    ("Yandex key", "YC", r"(?=[A-Za-z_-]{0,20}\d)[\w-]{38}" + _END),
    ("SonarQube token", "sqp_", r"[a-f0-9]{40}"),
    ("SonarQube token", "squ_", r"[a-f0-9]{40}"),
    ("SonarQube token", "sqa_", r"[a-f0-9]{40}"),
    ("GitLab token", "glcbt-", rf"{_W}{{18,}}"),
    ("GitLab token", "glptt-", rf"{_W}{{18,}}"),
    ("GitLab token", "glft-", rf"{_W}{{18,}}"),
    ("GitLab token", "glsoat-", rf"{_W}{{18,}}"),
    ("GitLab token", "glagent-", rf"{_W}{{18,}}"),
    ("GitLab token", "glimt-", rf"{_W}{{18,}}"),
    ("GitLab token", "glffct-", rf"{_W}{{18,}}"),
    ("GitLab token", "gloas-", rf"{_W}{{18,}}"),
    ("GitLab token", "GR1348941", rf"{_W}{{18,}}"),
    ("1Password key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("Slack token", "xoxe-", r"\d-[A-Za-z0-9]{100,}"),
    ("HubSpot token", "pat-", rf"(?:na|eu)\d-{_UUID}"),
    ("NVIDIA key", "nvapi-", rf"{_W}{{50,}}"),
    ("Cerebras key", "csk-", r"[a-z0-9]{40,}"),
    ("ElevenLabs key", "sk_", r"[a-f0-9]{48}" + _END),
    ("Pinecone key", "pcsk_", r"\w{50,}"),
    ("Jina key", "jina_", rf"{_W}{{50,}}"),
    ("E2B key", "e2b_", r"[a-f0-9]{40}"),
    ("Firecrawl key", "fc-", r"[a-f0-9]{32}" + _END),
    ("Resend key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}" + _END),
    ("Neon key", "napi_", r"[a-z0-9]{50,}"),
    ("Render key", "rnd_", r"[A-Za-z0-9]{28,}"),
    ("Buildkite token", "bkua_", r"[a-f0-9]{40}"),
    ("CircleCI token", "CCIPAT_", r"\w{22}_[a-f0-9]{40}"),
    ("PostHog key", "phx_", r"[A-Za-z0-9]{43,}"),
    ("Cargo token", "cio", r"(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{32}" + _END),
    ("NuGet key", "oy2", r"[a-z0-9]{43}" + _END),
    ("Google OAuth token", "1//0", rf"{_W}{{40,}}"),
    ("Linear token", "lin_oauth_", r"[a-f0-9]{64}"),
    ("Apify token", "apify_api_", r"[A-Za-z0-9]{30,}"),
    ("Doppler token", "dp.ct.", r"[A-Za-z0-9]{40,}"),
    ("Doppler token", "dp.sa.", r"[A-Za-z0-9]{40,}"),
    ("Vault token", "hvr.", rf"{_W}{{24,}}"),
    ("Bundler credential", "BUNDLE_", r"[A-Z0-9_]{2,60}__[A-Z]{2,6}[ \t]{0,2}[=:][ \t]{0,2}[\"']?[^\s\"':]{3,100}:[^\s\"']{3,100}"),
    ("memoryhub token", "mh_", r"[A-Za-z0-9_-]{24,}"),
    ("JSON web token", "eyJ", rf"{_W}{{8,}}\.eyJ{_W}{{8,}}(?:\.{_W}{{6,}})?"),
    ("Azure key", "AccountKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("Azure key", "SharedAccessKey=", r"[A-Za-z0-9+/]{30,}={0,2}"),
    ("Azure signature", "sig=", r"[A-Za-z0-9%+/]{40,}(?:%3D|=)*"),
    ("private key", "-----BEGIN ", r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----BEGIN )[\s\S]){0,8000}?(?:-----END [A-Z0-9 ]{0,40}-----|(?=-----BEGIN )|\Z)"),
    ("private key", "PuTTY-User-Key-File-", r"\d: (?:(?!PuTTY-User-Key)[\s\S]){0,8000}?Private-MAC: \w+"),
)  # fmt: skip
_COMPILED = [
    (kind, needle, re.compile(re.escape(needle) + rest)) for kind, needle, rest in _PREFIXED if needle != "-us"
]
_JOINED = (".webhook.office.com/webhookb2/", ".atlasv1.", "sig=", "-----BEGIN ", "AccountKey=", "SharedAccessKey=")

_LINK = re.compile(r"(?<=://)(?P<user>[^\s:/@\"'`<>]{0,80}):(?P<secret>[^\s@\"'`<>]{3,200})@(?P<host>[\w.\-\[\]]+)")
_PORT = re.compile(r"\d{2,5}(?:\W|$)")
_HEADER = re.compile(
    r"authorization[\"'`]?\s{0,3}[:=,]\s{0,3}[\"'`]?(?:basic|bearer|token|digest)\s+(?P<secret>[A-Za-z0-9+/=_.~-]{12,})",
    re.I,
)
_USERPASS = re.compile(
    r"(?:\s|^)(?:-u|--user)[ =][\"']?[\w.@+-]{1,60}:(?P<secret>(?!//|\d{1,6}(?:\s|$))[^\s\"'`]{4,100})"
)
_PAIR = re.compile(
    r"(?:credentials?|creds|log\s?in|sign\s?in|access|account)\b[^\n]{0,40}?\b[\w.@-]{2,40}\s?[:/]\s?(?P<secret>(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[^\s/:,;`\"']{7,60})(?=[\s,;`\"']|$)",
    re.I,
)
_CONNECTION = re.compile(
    r"(?:user\s?id|uid|user|username)=[^;\s]+;\s?(?:password|pwd)=(?P<secret>[^;\s\"']{4,80})", re.I
)
_MYSQL = re.compile(r"\bmysql(?:dump|admin)?\s(?:[^\n]{0,60}?\s)?-p(?P<secret>[^\s\"'`-][^\s\"'`]{3,60})")
_MAILCHIMP = re.compile(r"\b(?P<secret>[0-9a-f]{32}-us\d{1,2})")
_TELEGRAM = re.compile(r"\b(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,34}|\d{5,16}:A[A-Za-z0-9_-]{34}(?![\w-]))")
_AZURE = re.compile(r"(?<![\w.~-])(?P<secret>[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34})")
_DEEPL = re.compile(rf"\b(?P<secret>{_UUID}:fx)\b")
_DISCORD = re.compile(r"\b(?P<secret>[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})")
_SEED = re.compile(
    r"(?:seed|mnemonic|recovery)(?:[ _-]?(?:phrase|words))?[\"'`*]{0,3}\s*(?:is|=|:)\s*[\"'`]?(?P<secret>(?:[a-z]{3,8} ){11,23}[a-z]{3,8})",
    re.I,
)
_SQL = re.compile(r"identified by\s+[\"'](?P<secret>[^\"'\s]{4,100})[\"']", re.I)
_FILLER = re.compile(
    r"^[a-z_]{2,20}=\w|(?i:^(?:in)?valid-|^fake-|^dummy-)|^(?:[a-z]{2,12}-){1,5}\d{1,6}$|^[a-z]+\d?(?:_[a-z]+)+$|^[A-Z]+(?:_[A-Z]+)+$|(?i:^[a-z_-]{0,40}(?:password|passwd|secret|token|key)$)|^\[|^env\.|\^|^[a-z]+(?:-[a-z]+)+$|^(?:v\d-)?[a-z]+\d?(?:-[a-z]+\d?)+$|^[xX*.•0_-]+$|x{6,}|X{6,}|\*{3,}|(?<![A-Za-z0-9])your|YOUR|abc_?123|example|placeholder|<|\.\.\.|\$\{|^\$|^%|\{"
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
    ("Telegram bot token", _TELEGRAM, (":aa", "telegr"), 17),
    ("Azure secret", _AZURE, ("q~",), 4),
    ("DeepL key", _DEEPL, (":fx",), 36),
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


_ORDINARY = frozenset(["sk-", "key-", "pat", "pat-", "pypi-", "secret_", "live_", "access-", "API-", "sl.", "s."])
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
            and not _PORT.match(match["secret"])
            and match["secret"] != match["user"]
        ):
            yield (*match.span("secret"), "connection string")
        at = text.find("://", at + 3)
