"""The shapes that providers gave their keys: a literal beginning, then what must follow it.

The beginning is looked up with `str.find` and the pattern is tried only where it stands: a hundred formats over 100 kB cost less
than one general regular expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ..patterns import Bounded, Found, bounded, escape, plain
from ..scanning import Needles, Words
from .formats import MORE_KEYS, PASSWORD_HASHES, WEBHOOKS
from .values import PLACEHOLDER_IN_KEY, UUID

Hit = tuple[int, int, str]  # start, end, kind
Key = tuple[str, str, Bounded]  # kind, prefix, pattern

MAX_PIECE = 9_000
_W = r"[A-Za-z0-9_-]"
_END = r"(?![A-Za-z0-9])"

# kind, beginnings (with bars between them), what follows a beginning
_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("AWS access key", "AKIA|ASIA", r"[A-Z0-9]{16}" + _END),
    ("AWS Bedrock key", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}"),
    ("Anthropic key", "sk-ant-", rf"{_W}{{16,}}"),
    ("OpenRouter key", "sk-or-", rf"{_W}{{20,}}"),
    ("OpenAI key", "sk-proj-|sk-svcacct-", rf"{_W}{{20,}}"),
    ("API key", "sk-", r"(?=[A-Za-z-]{0,60}\d)[A-Za-z0-9-]{18,}" + _END),
    ("Stripe key", "sk_live_|sk_test_|rk_live_|rk_test_", r"[A-Za-z0-9]{10,}"),
    ("webhook secret", "whsec_", r"[A-Za-z0-9+/=]{16,}"),
    ("GitHub token", "ghp_|gho_|ghu_|ghs_|ghr_", r"[A-Za-z0-9]{30,}"),
    ("GitHub token", "github_pat_", r"\w{22,}"),
    ("GitLab token", "glpat-|gldt-|glrt-", rf"{_W}{{20,}}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-", rf"(?=\w{0,60}[A-Z0-9]){_W}{{30,}}"),
    ("RubyGems key", "rubygems_", r"[a-f0-9]{40,}"),
    ("Slack token", "xoxb-|xoxp-|xoxa-|xoxs-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xoxe.", r"[A-Za-z0-9.-]{10,}"),
    ("Slack token", "xapp-", r"\d-[A-Za-z0-9-]{10,}"),
    ("Slack webhook", "https://hooks.slack.com/services/", r"T\w{6,}/B\w{6,}/\w{16,}"),
    ("Slack webhook", "https://hooks.slack.com/workflows/", r"\w+/\w+/\d+/\w{16,}"),
    ("Discord webhook", "https://discord.com/api/webhooks/|https://discordapp.com/api/webhooks/", rf"\d+/{_W}{{30,}}"),
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
    ("Shopify token", "shpat_|shpss_|shpca_", r"[a-fA-F0-9]{32}"),
    ("Square token", "sq0atp-", rf"{_W}{{22}}"),
    ("Square token", "sq0csp-", rf"{_W}{{43}}"),
    ("Square token", "EAAA", rf"{_W}{{60}}"),
    ("Facebook token", "EAAC", r"[A-Za-z0-9]{60,}"),
    ("PayPal token", "access_token$production$", r"\w{16}\$\w{32}"),
    ("DigitalOcean token", "dop_v1_|doo_v1_", r"[a-f0-9]{40,}"),
    ("Docker token", "dckr_pat_", rf"{_W}{{20,}}"),
    ("Databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?" + _END),
    ("Doppler token", "dp.pt.|dp.ct.|dp.sa.", r"[A-Za-z0-9]{40,}"),
    ("Doppler token", "dp.st.", r"[\w.]{40,}"),
    ("Vault token", "hvs.|hvb.|hvr.", rf"{_W}{{24,}}"),
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
    ("Atlassian token", "ATATT3|ATCTT3", r"[\w=-]{60,}"),
    ("Bitbucket token", "ATBB", r"[A-Za-z0-9]{24,}" + _END),
    ("Supabase key", "sb_secret_", rf"{_W}{{20,}}"),
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
    ("EasyPost key", "EZAK|EZTK", r"[A-Za-z0-9]{54}"),
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
    ("Plaid token", "access-", rf"(?:sandbox|development|production)-{UUID}"),
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
    ("SonarQube token", "sqp_|squ_|sqa_", r"[a-f0-9]{40}"),
    ("GitLab token", "glcbt-|glptt-|glft-|glsoat-|glagent-|glimt-|glffct-|gloas-|GR1348941", rf"{_W}{{18,}}"),
    ("1Password key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("Slack token", "xoxe-", r"\d-[A-Za-z0-9]{100,}"),
    ("HubSpot token", "pat-", rf"(?:na|eu)\d-{UUID}"),
    ("NVIDIA key", "nvapi-", rf"{_W}{{50,}}"),
    ("Cerebras key", "csk-", r"[a-z0-9]{40,}"),
    ("ElevenLabs key", "sk_", r"[a-f0-9]{48}" + _END),
    ("Pinecone key", "pcsk_", r"\w{50,}"),
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
    ("Bundler credential", "BUNDLE_", r"[A-Z0-9_]{2,60}__[A-Z]{2,6}[ \t]{0,2}[=:][ \t]{0,2}[\"']?[^\s\"':]{3,100}:[^\s\"']{3,100}"),
    ("Adafruit key", "aio_", r"[A-Za-z0-9]{28}" + _END),
    ("Hugging Face token", "api_org_", r"[A-Za-z0-9]{30,}"),
    ("Sourcegraph token", "sgd_|slk_|sgpat_", r"[A-Za-z0-9_]{40,}"),
    ("Sourcegraph token", "sgp_", r"(?:local_|[A-Za-z0-9]{16}_)[a-f0-9]{40}"),
    ("Bitbucket token", "BBDC-", r"[A-Za-z0-9+/@_-]{40,50}"),
    ("ClickUp token", "pk_", r"\d{5,9}_[A-Z0-9]{30,}"),
    ("Dependency-Track key", "odt_", r"[A-Za-z0-9]{32,}"),
    ("Doppler token", "dp.scim.|dp.audit.|dp.said.|dp.sso.", r"[A-Za-z0-9]{40,}"),
    ("New Relic key", "NRAA-", r"[a-f0-9]{27}"),
    ("New Relic key", "NRIQ-|NRSP-|NRRA-", r"[A-Za-z0-9_-]{27,}"),
    ("New Relic key", "NRJS-", r"[a-f0-9]{19}"),
    ("Mapbox token", "tk.eyJ", rf"{_W}{{40,}}\.{_W}{{20,}}"),
    ("AppSync key", "da2-", r"[a-z0-9]{26}" + _END),
    ("Artifactory token", "cmVmdGtuOjAxOj", r"[A-Za-z0-9+/=]{40,}"),
    ("Vault token", "s.|b.|r.", r"(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{24,26}" + _END),
    ("Shopify token", "shppa_|shptka_|shpua_|shpit_", r"[a-fA-F0-9]{32}"),
    ("Slack token", "xoxr-|xoxo-|xoxc-|xoxd-", r"[A-Za-z0-9%/+=-]{10,}"),
    ("Slack token", "xwfp-", r"[A-Za-z0-9-]{20,}"),
    ("Razorpay key", "rzp_live_|rzp_test_", r"[A-Za-z0-9]{14,}"),
    ("Trello token", "ATTA", r"[a-f0-9]{60,}"),
    ("LaunchDarkly key", "api-|sdk-", UUID),
    ("Scaleway key", "SCW", r"[A-Z0-9]{17}" + _END),
    ("Deno token", "ddp_|ddw_|ddo_", r"[A-Za-z0-9]{36}"),
    ("WakaTime key", "waka_", UUID),
    ("LangFuse key", "sk-lf-|pk-lf-", UUID),
    ("Fireworks key", "fw_", r"[A-Za-z0-9]{22,}" + _END),
    ("Langsmith key", "ls__", r"[a-f0-9]{32}"),
    ("Lichess token", "lip_", r"[A-Za-z0-9]{20,}"),
    ("Open VSX token", "ovsxat_", r"[a-f0-9-]{36}"),
    ("Polar token", "polar_at_|polar_pat_|polar_oat_", r"[A-Za-z0-9_-]{20,}"),
    ("Ramp secret", "ramp_sec_", r"[A-Za-z0-9]{40,}"),
    ("Rootly key", "rootly_", r"[a-f0-9]{60,}"),
    ("Trigger.dev key", "tr_dev_|tr_prod_|tr_stg_|tr_pat_", r"[A-Za-z0-9]{16,}"),
    ("Zuplo key", "zpka_", r"[a-z0-9_]{20,}"),
    ("Canva secret", "cnvca", r"[A-Za-z0-9_-]{40,}"),
    ("Endor key", "endr+", r"[A-Za-z0-9]{16,}"),
    ("Friendli token", "flp_", r"[A-Za-z0-9]{40,}"),
    ("Ionic token", "ion_", r"[A-Za-z0-9]{42}"),
    ("Klaviyo key", "pk_", r"[a-f0-9]{34}" + _END),
    ("Mergify key", "mka_", r"[A-Za-z0-9_-]{40,}"),
    ("Persona key", "persona_production_|persona_sandbox_", r"[a-f0-9-]{36}"),
    ("Retool token", "retool_", r"[a-z0-9_]{20,}"),
    ("JumpCloud key", "jca_", r"[A-Za-z0-9]{36}"),
    ("OneSignal key", "os_v2_app_|os_v2_org_", r"[a-z0-9]{60,}"),
    ("Onfido key", "api_live.|api_sandbox.|api_live_us.", r"[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"),
    ("Stytch secret", "secret-live-|secret-test-", r"[A-Za-z0-9_=-]{30,}"),
    ("Docker token", "dckr_oat_", rf"{_W}{{20,}}"),
    ("Flutterwave key", "FLWPUBK", r"(?:_TEST)?-[a-z0-9]{12,40}-?X?"),
    ("GitLab token", "glrtr-|glwt-|_gitlab_session=", r"[A-Za-z0-9_-]{20,}"),
    ("Grafana token", "eyJrIjoi", r"[A-Za-z0-9+/=_-]{60,}"),
    ("Intercom token", "dG9rOm", r"[A-Za-z0-9+/=]{40,}"),
    ("Salesforce token", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,}"),
    ("Sendinblue key", "xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("Telnyx key", "KEY0", r"[A-F0-9]{31}_[A-Za-z0-9]{22}"),
    ("Voyage key", "pa-", rf"(?=[A-Za-z_-]{{0,20}}\d){_W}{{40,}}"),
    ("Jenkins secret", "{AQAAABAAAA", r"[A-Za-z0-9+/]{20,}={0,2}\}"),
    ("Amazon token", "amzn.mws.", UUID),
    ("Azure DevOps token", "JQQJ99", r"[A-Za-z0-9]{40,}"),
    ("Azure SAS", "SharedAccessSignature=", r"[A-Za-z0-9%+/=&:;.-]{40,}"),
    ("Sentry DSN", "https://", r"[a-f0-9]{32}(?::[a-f0-9]{32})?@(?:o\d+\.)?(?:ingest\.)?(?:us\.|de\.)?(?:sentry\.io|sentry\.[\w.]+)/\d+"),
    ("PlanetScale token", "pscale_", r"(?:tkn|pw|oauth)_[\w.=-]{30,}"),
    ("Asana token", "0/|1/|2/", r"(?:\d{10,20}/\d{10,20}:[a-f0-9A-Z]{32}|\d{10,20}:[a-f0-9]{32}|[a-f0-9]{32})" + _END),
    ("memoryhub token", "mh_", r"[A-Za-z0-9_-]{24,}"),
    ("JSON web token", "eyJ", rf"{_W}{{8,}}\.eyJ{_W}{{8,}}(?:\.{_W}{{6,}})?"),
    ("Azure key", "AccountKey=", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("Azure key", "SharedAccessKey=", r"[A-Za-z0-9+/]{30,}={0,2}"),
    ("Azure signature", "sig=", r"[A-Za-z0-9%+/]{40,}(?:%3D|=)*"),
    ("private key", "-----BEGIN ", r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----BEGIN )[\s\S]){0,8000}?(?:-----END [A-Z0-9 ]{0,40}-----|(?=-----BEGIN )|\Z)"),
    ("private key", "PuTTY-User-Key-File-", r"\d: (?:(?!PuTTY-User-Key)[\s\S]){0,8000}?Private-MAC: \w+"),
)  # fmt: skip
_COMPILED: list[Key] = [
    (kind, prefix, bounded(escape(prefix) + rest, reach=MAX_PIECE))
    for kind, prefixes, rest in (*_PREFIXED, *MORE_KEYS, *PASSWORD_HASHES, *WEBHOOKS)
    for prefix in prefixes.split("|")
]
_INSIDE_WORDS = (
    ".webhook.office.com/webhookb2/",
    ".atlasv1.",
    "sig=",
    "-----BEGIN ",
    "AccountKey=",
    "SharedAccessKey=",
    "/hooks/",
    ":aad3b435b51404eeaad3b435b51404ee:",
    "::",
    *(prefix for _, prefixes, _ in WEBHOOKS for prefix in prefixes.split("|")),
)
"""Prefixes that begin a key in the middle of a word as well."""
_ORDINARY = frozenset(["sk-", "key-", "pat", "pat-", "pypi-", "secret_", "live_", "access-", "API-", "sl.", "s."])
"""Prefixes that names of things have as well: after a hyphen they begin nothing."""
_WORDS = [one for one in _COMPILED if " " in one[2].pattern or "\\s" in one[2].pattern]
_ONE_WORD = [one for one in _COMPILED if one not in _WORDS]
_IN_WORDS, _IN_ONE_WORD = (Needles(prefix for _, prefix, _ in table) for table in (_WORDS, _ONE_WORD))
_EMPTY_PRIVATE_KEY = bounded(r"X{4,}|\.\.\.|…|<|\$\{|(?<![A-Za-z0-9])your")

_MIN_WORD = 14  # characters: nearly every key is one long word, and prose has few of those
_MIN_PREFIX = 4  # letters from which a prefix is no accident
_MAX_SPLIT_KEY = 320
_NEXT_NAME = bounded(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\s?=")
"""The next line gives another variable its value."""
_FIRST_PIECE, _MAX_SEAMS = plain(r"[^\s\"'`\\]*"), 4
_SEAM = bounded(
    r"[ \t]{0,40}+\\?[ \t]{0,40}\n[ \t>*#]{0,40}|[\"'`][ \t]{0,40}(?:\+[ \t\n]{0,40}|\\[ \t]{0,40}\n[ \t]{0,40})[\"'`]"
)
# The rest of a key: after a seam that says so, or a line of nothing but such signs.
_REST = bounded(
    r"[\"'`]?[ \t]{0,40}(?:\\[ \t]{0,40}\n[ \t]{0,40}|\+[ \t\n]{0,40})[\"'`]?[A-Za-z0-9+/=_-]{4,200}|"
    r"[ \t]{0,40}\n[ \t]{0,40}(?=[A-Za-z+/=_-]{0,60}\d)(?=[\d+/=_-]{0,60}[A-Za-z])[A-Za-z0-9+/=_-]{20,200}(?=\s|$)"
)


def keys_in(words: Words) -> list[Key]:
    """The kinds of keys that can stand in a text of these distinct words."""
    long_words = Words("\n".join([word for word in words.split("\n") if len(word) >= _MIN_WORD]))
    where = words if "+" in words or "\\" in words else long_words
    return [_ONE_WORD[at] for at in _IN_ONE_WORD.within(where)] + [_WORDS[at] for at in _IN_WORDS.within(words)]


def provider_keys(text: str, keys: Iterable[Key]) -> Iterator[Hit]:
    """Every key of these kinds."""
    for kind, prefix, pattern in keys:
        at = text.find(prefix)
        joined = 0  # nothing is put together twice
        while at >= 0:
            is_inside = _is_inside_word(text, at, prefix)
            match = _match(pattern, text, at) if prefix in _INSIDE_WORDS or not is_inside else None
            if match and not _is_placeholder(kind, match.group()[len(prefix) :]):
                yield at, _end_over_seams(text, match.end()), kind
            elif match is None and at >= joined and len(prefix) >= _MIN_PREFIX and not is_inside:
                joined = at + _MAX_SPLIT_KEY
                if end := _end_of_split_key(text, at, pattern, " " in pattern.pattern or "\\s" in pattern.pattern):
                    yield at, end, kind
            at = text.find(prefix, match.end() if match else at + 1)


def _match(pattern: Bounded, text: str, at: int) -> Found | None:
    """The key that begins here, whole: of a token that fills the piece that was looked at, a longer piece is."""
    match, size = pattern.match(text, at), MAX_PIECE
    while match and match.end() == at + size < len(text):
        size *= 8
        match = pattern.match_within(text, at, at + size)
    return match


def _is_placeholder(kind: str, rest: str) -> bool:
    return bool((_EMPTY_PRIVATE_KEY if kind in ("private key", "password hash") else PLACEHOLDER_IN_KEY).search(rest))


def _is_inside_word(text: str, at: int, prefix: str) -> bool:
    """Whether a prefix stands in the middle of a word (`task-…` has `sk-`), where it begins nothing."""
    before = text[at - 1 : at]
    is_joined = before in ("_", "-") and (prefix in _ORDINARY or len(prefix) < _MIN_PREFIX)
    return bool(before) and (before.isalnum() or is_joined)


def _end_over_seams(text: str, end: int) -> int:
    """The end of a key that goes on after its shape is full."""
    for _ in range(4):
        rest = _REST.match(text, end)
        if rest is None:
            break
        end = rest.end()
    return end


def _end_of_split_key(text: str, at: int, pattern: Bounded, has_blanks: bool) -> int:
    """Where a key ends that was cut by a line's end or put together from pieces; 0 where there is none."""
    piece = text[at : at + _MAX_SPLIT_KEY]
    first = _FIRST_PIECE.match(piece)
    if first and not has_blanks and not _SEAM.match(piece, first.end()):
        return 0  # the key's first word ends, and the key with it
    seams = [match.span() for match in islice(_SEAM.finditer(piece), _MAX_SEAMS)]
    whole = piece
    for start, end in reversed(seams):
        whole = whole[:start] + whole[end:]
    match = pattern.match(whole) if seams and not _NEXT_NAME.match(text, at + seams[0][1]) else None
    if match is None or PLACEHOLDER_IN_KEY.search(match.group()):
        return 0
    length = match.end()
    for start, end in seams:
        if start < length:
            length += end - start
    return at + length
