"""Values that are given to a telling name, such as `password` or `api_key`, and random strings on a line with such a name."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Lines
from ..patterns import Found, bounded, linear, plain
from ..scanning import Needles, offsets_of
from .credentials import Hit
from .values import (
    HYPHENED,
    KEY_OF_DIGITS,
    SELF_DESCRIBING,
    SLUG,
    TEST_VALUE,
    UUID,
    WORDS,
    is_key,
    is_password,
    is_random_in_list,
    is_random_letters,
    is_random_word,
    is_uuid,
    looks_random,
    mixes_signs,
)

RANDOM = "random string beside a name for secrets"

_STRONG = r"pass(?:word|wd|phrase|code)s?|pwd|pass(?!through|ed\b|es\b|ing\b|age|eng|iv|port|ion)|secret|api[ _-]?token|(?<!publickey)token(?!i[sz])|api[ _-]?key|apikey|credential|private[ _-]?key"
_NAMES = bounded(
    rf"(?<!by)(?<!com)(?<!sur)(?<!low)(?<!high)(?<!band)(?:{_STRONG})|(?:access|auth|secret|signing|encryption|license|master|account|session|webhook|service|storage|deploy|admin|"
    r"client|shared|app|hmac|root|db|database)[ _-]?key|bearer|creds|cookie|\bpin\b|connection string|\bdsn\b|\blogin\b|\bsalt\b|(?<![a-z0-9])(?:pw|psw|pswd|psswd|paswd)(?![a-z0-9])|\blog\s?in\b|\bwifi\b"
)
_ROOTS = (
    "pass", "pwd", "pw", "psw", "pssw", "pasw", "secret", "token", "key", "cred", "bearer", "cookie", "pin", "connection string", "dsn", "login", "salt",
)  # fmt: skip
"""In each name one of these stands: only there are names looked for."""
_NO_SECRETS = frozenset([
    "public", "primary", "foreign", "cache", "partition", "sort", "object", "idempotency", "unique", "composite", "natural",
    "surrogate", "index", "lookup", "hash", "row", "column", "map", "dict", "json", "query", "file", "message", "event",
    "entity", "group", "react", "list", "item", "config", "registry", "redis", "i18n", "locale", "translation", "prop",
])  # fmt: skip
"""What stands before `key` in keys that open nothing."""
_NAME_BEFORE = bounded(r"(?:([a-z0-9]+)[_-]?)?$")
_PASSWORDS = ("pass", "pwd", "pw", "ps", "pasw", "pin", "cred", "login", "log in", "wifi")
_GIVEN = bounded(
    r"[\w-]{0,24}[\"'`*\])]{0,4}(?:[ \t]{1,9}(?:for|of|to|on|in|at)[ \t]{1,9}(?:the[ \t]{1,9})?[\w./@-]{2,30}(?:[ \t]{1,9}[\w./@-]{2,20}){0,2})?"
    r"[ \t]{0,3}(?P<sep>=>|:=|==?|:|->|→|\||\bis(?:[ \t]{1,9}(?:now|set[ \t]{1,9}to|changed[ \t]{1,9}to|currently))?:?|\bwas(?:[ \t]{1,9}(?:changed|set|reset)[ \t]{1,9}to)?\b|,)[ \t]{0,8}(?:\n[ \t]{0,8}(?=\S{1,512}[ \t]{0,9}(?:\n|$)))?"
    r"(?P<open>\*\*|[\"'`]{1,3}|)(?P<value>[^\s\"'`|]{4,512})",
    reach=1_500,
)
_SPACE = plain(r"\s")
_MAX_NAMES_IN_WORD = 40  # `password=password=password=…` without end: each value reaches over the next sixty names
_MAX_KEYS_IN_VALUE = 4  # `key:key:key:…`: the same
_BARE = bounded(r"[ \t]{1,9}(?P<open>[\"'`]|)(?P<value>[^\s\"'`|]{6,200})")
_IMAGE = bounded(r"[a-z][a-z0-9./-]+:\d[\w.-]*$")  # `neo4j:5-community` after a password is the next word of a command
_TOKEN = plain(r"[A-Za-z0-9+/_\-=.~]{16,256}")
_HASHES = bounded(
    r"\b(?:sha\d*|md5|\w{0,30}hash(?:es)?|commit|\w{0,30}digest|\w{0,30}checksum|revision|integrity|etag|fingerprint|blob|uuid)\b|sha\d{3}-|data:",
    "i",
)


_COMMIT = bounded(r"[0-9a-f]{40}$")
"""Behind an `@`: the version of somebody's action or package, by its commit."""
_OF_THING = bounded(r"[_-]?(?:address|mint|symbol|program|contract)")
"""`tokenAddress`: where a token of a chain is found, which everybody may know."""
_GOES_ON = bounded(r"[\"'`]?(?:\.\.\.|…)")
_OTHER_NAME = bounded(
    r"(?:\b(?:id|uuid|guid|serial|device|commit|sha\d*|version|model|address|contract|name|file|path|url|image|colou?r|network|chain)|\w(?:address|contract|mint))[\"'`*]{0,3}\s?[:=]\s?[\"'`*]{0,3}$",
    "i",
)
"""Names that say of a random string that it is no secret, even on a line that speaks of one."""


def named_values(lines: Lines) -> Iterator[Hit]:
    """Values given to a telling name, then random strings elsewhere on such a line."""
    text = lines.text
    word_end = line_end = in_word = 0
    for match in _names(lines.lower, lines.lower_words):
        in_word += 1
        if match.start() >= word_end:
            space = _SPACE.search(text, match.start())
            word_end, in_word = space.start() if space else len(text), 0
        if in_word < _MAX_NAMES_IN_WORD:
            yield from _given(text, match.end(), match.group())
        if match.start() >= line_end:
            start, line_end = lines.around(match.start())
            yield from _random_on_line(text, start, min(line_end, start + 4000))


def random_keys(lines: Lines) -> Iterator[Hit]:
    """Random values of anything called a key: `SHOP_KEY=`, `"mapKey":`, `?key=`."""
    text, lower = lines.text, lines.lower
    done = reach = in_value = 0
    for at in offsets_of(lower, ["key"], lines.lower_words):
        in_value = in_value + 1 if at < reach else 0
        if in_value > _MAX_KEYS_IN_VALUE:
            continue
        before = _NAME_BEFORE.search(lower, max(0, at - 24), at)
        match = _GIVEN.match(text, at + 3) if at >= done and lower[at + 3 : at + 5] != "bo" else None
        is_id = lower.startswith(("id", "_id", "-id"), at + 3)
        if not match or not before or before[1] in _NO_SECRETS or match["sep"] not in (":", "=", "=>", ":="):
            continue
        value = match["value"].rstrip(".,;:)]}*\\").partition("&")[0]
        reach = max(reach, match.start("value") + len(value)) if not in_value else reach
        line = text.rfind("\n", max(0, at - 200), at) + 1
        if (
            (before[1] or len(value) >= 24)
            and not (is_id and is_uuid(value))
            and _is_random_key(text, match, value)
            and not _HASHES.search(text, max(line, at - 60), at)
        ):
            done = match.end()
            yield match.start("value"), match.start("value") + len(value), "key"


def _is_random_key(text: str, match: Found, value: str) -> bool:
    """Of a key whose name begins with a word of its own, also one of letters alone; a UUID only in an address."""
    in_address = match["sep"] == "=" and text[max(0, match.start() - 4) : match.start() - 3] in ("?", "&")
    return looks_random(value) or is_random_word(value) or is_random_letters(value) or (in_address and is_uuid(value))


def _names(lower: str, words: str) -> list[Found]:
    """The telling names in order; each is looked for only where its rarest part stands."""
    found = {}
    for at in offsets_of(lower, _ROOTS, words):
        match = _NAMES.search(lower, max(0, at - 14), at + 20)
        while match:
            found[match.start()] = match
            match = _NAMES.search(lower, match.end(), at + 20) if match.end() < at else None
    return [found[at] for at in sorted(found)]


def _given(text: str, at: int, name: str) -> Iterator[Hit]:
    """The value that stands behind a name which ends at this place."""
    match = _GIVEN.match(text, at)
    if match is None:
        yield from _given_without_sign(text, at, name)
        return
    if name == "token" and _OF_THING.match(text[at : at + 12].lower()):
        return
    value = match["value"].rstrip(".,;:)]*\\")
    if match["sep"] == "|" and "|" not in text[max(text.rfind("\n", max(0, at - 400), at), 0) : at]:
        return  # no table, but one command that feeds another
    if not _is_ordinary(name, value) and _is_secret(name, value, match) and not _is_example(text, match, value):
        yield match.start("value"), match.start("value") + len(value), _kind(name)


def _given_without_sign(text: str, at: int, name: str) -> Iterator[Hit]:
    """`password hunter2!`: nothing but a blank between a name and its value."""
    if not name.startswith(("pass", "pwd", "bearer", "pin")) or not (match := _BARE.match(text, at)):
        return
    if match["value"].endswith(("...", "…")):
        return  # cut short: a form is shown
    value = match["value"].rstrip(".,;:)]*\\!?")
    may_be_password = name != "pass" and not name.startswith(("bearer", "pin"))
    is_password_like = may_be_password and mixes_signs(value) and not HYPHENED.match(value)
    is_random = looks_random(value) or (name.startswith("bearer") and is_random_word(value))
    if not _IMAGE.match(value) and (is_random or is_password_like):
        yield match.start("value"), match.start("value") + len(value), _kind(name)


def _is_ordinary(name: str, value: str) -> bool:
    """What commonly follows some names and is no secret: `PASS: spec-1`, `login: user-name`, a pin that is no number."""
    if name == "pin":
        return not value.isdigit()
    if name not in ("pass", "login"):
        return False
    is_other = "/" in value if name == "pass" else "=" in value or "@" in value
    return is_other or bool(SLUG.match(value) or WORDS.match(value))


def _is_secret(name: str, value: str, match: Found) -> bool:
    quoted = bool(match["open"])
    if quoted and name.startswith(("api", "secret")) and KEY_OF_DIGITS.match(value):
        return True
    if match["sep"] == ",":
        return is_random_in_list(value, quoted)
    return (is_password if name.startswith(_PASSWORDS) else is_key)(value, quoted)


def _is_example(text: str, match: Found, value: str) -> bool:
    """`password: "SecurePass123!"` in code shows how to call something; it is no secret itself."""
    if match["value"].endswith(("...", "…")) or _GOES_ON.match(text, match.end("value")):
        return True
    if not SELF_DESCRIBING.match(value):
        return bool(TEST_VALUE.search(value))
    if match["open"] in ("'", '"') and text[match.end("value") : match.end("value") + 1] == match["open"]:
        return True
    before = text[max(0, match.start() - 2000) : match.start()]
    return before.count("```") % 2 == 1


def _kind(name: str) -> str:
    if name.startswith(("pass", "pw", "ps", "pasw", "cred", "login", "pin")):
        return "password"
    return {"bearer": "token", "cookie": "session cookie", "dsn": "connection string"}.get(
        name, name.replace("_", " ").replace("-", " ")
    )


def _random_on_line(text: str, start: int, end: int) -> Iterator[Hit]:
    for match in _TOKEN.finditer(text, start, end):
        value = match.group().rstrip("=.-/").rpartition("=")[2].strip("=.-/")
        if (
            looks_random(value)
            and not (_COMMIT.match(value) and text[match.start() - 1 : match.start()] == "@")
            and not _in_link(text, match.start())
            and not _OTHER_NAME.search(text, max(start, match.start() - 40), match.start())
        ):
            if _HASHES.search(text, start, end):  # asked last: few lines hold anything random
                return
            at = match.start() + match.group().rindex(value)
            yield at, at + len(value), RANDOM


def _in_link(text: str, at: int) -> bool:
    word = max(text.rfind(space, 0, at) for space in " \t\n(<\"'`")
    return "://" in text[word + 1 : at + 12]


_LOOSE_ROOTS = ("key", "token", "secret", "private", "access", "credential", "auth", "pass")
_LOOSE = bounded(
    r"(?i:key|token|secret|private|access|credential|auth|password|passwd)s?(?:[ _-]?(?i:key|token|secret|access|id|uuid))?[\"'`]?"
    r"(?:[ \t]{1,3}(?:(?:is|was|of|=|:)[ \t]{1,3})?|-|>[ \t]{0,3}\{?[ \t]{0,3}(?:[\w.-]{2,24}[ \t]{1,2}){0,2})[\"'`({\[]{0,2}"
    r"(?P<value>[A-Za-z0-9+/_=.~-]{16,200})(?=[\s\"'`,;)}<\]]|\.?$|\.\s)",
    reach=400,
)
_LEAD = bounded(r"([A-Za-z0-9]+)[ \t_.-]{0,2}$", reach=60)
_ORDINARY = frozenset([
    "a", "an", "any", "cache", "commit", "composite", "content", "each", "every", "foreign", "hash", "idempotency", "index", "its", "job",
    "natural", "node", "object", "order", "partition", "primary", "public", "record", "row", "s3", "sort", "storage", "this", "translation", "unique",
])  # fmt: skip
"""Words before a key that opens nothing."""
_NO_SECRET = linear(
    r"(?i)\b(?:sha\d*|md5|hash(?:es)?|commit|digest|checksum|revision|integrity|etag|fingerprint|blob|image|tag|version|branch|file|path|id)\b|sha\d{3}-|data:"
)
_UUID = linear(rf"(?i)^{UUID}$")
_SURE = ("token", "secret", "private", "credential", "auth")
_VENDORS = (
    "adafruit", "airtable", "algolia", "alphavantage", "amplitude", "apify", "artifactory", "asana", "auth0", "beamer", "binance", "bitfinex", "bitly", "bugsnag",
    "calendly", "clearbit", "clickup", "clojars", "cloudflare", "cloudinary", "codecov", "coinbase", "confluent", "contentful", "coveralls", "databricks", "datadog",
    "deepgram", "deepl", "digitalocean", "discord", "doppler", "droneci", "dropbox", "dynatrace", "easypost", "elevenlabs", "etherscan", "etsy", "facebook", "fastly",
    "figma", "finicity", "finnhub", "firebase", "flickr", "flutterwave", "freshbooks", "freshdesk", "geocodio", "gitter", "gocardless", "grafana", "heroku", "honeycomb",
    "hubspot", "infura", "intercom", "ipinfo", "ipstack", "jfrog", "jira", "kraken", "kucoin", "launchdarkly", "linkedin", "loggly", "logz", "mailchimp", "mailgun", "mailjet",
    "mandrill", "mapbox", "mattermost", "maxmind", "messagebird", "mixpanel", "moralis", "netlify", "newrelic", "nexmo", "ngrok", "nytimes", "okta", "onesignal", "openweather",
    "pagerduty", "pastebin", "paypal", "pinata", "pingdom", "pipedrive", "plaid", "planetscale", "postmark", "posthog", "pubnub", "pusher", "quandl", "rapidapi", "razorpay",
    "rollbar", "salesforce", "scrapingbee", "segment", "sendbird", "sendgrid", "sendinblue", "sentry", "shippo", "shodan", "sidekiq", "snyk", "sonar", "sourcegraph", "spotify",
    "splunk", "square", "squarespace", "statuspage", "stripe", "sumologic", "tavily", "teamcity", "tiingo", "todoist", "travisci", "trello", "twilio", "twitch", "twitter", "typeform",
    "unsplash", "virustotal", "vonage", "wakatime", "weatherapi", "xero", "yandex", "zapier", "zendesk", "zoho",
)  # fmt: skip
"""Who gives out keys without a form of their own, as the rules of open scanners name them."""
_VENDOR_NEEDLES = Needles(_VENDORS)
_OF_VENDOR = bounded(
    r"[\"'`]?[ \t]{0,2}(?::=|=>|=|:|[ \t])[ \t]{0,2}[\"'`]?(?P<value>[A-Za-z0-9_-]{20,64})(?=[\s\"'`,;)}\]]|$|\.(?:\s|$))",
    reach=120,
)


def loose_values(lines: Lines) -> Iterator[Hit]:
    """Every such value; the same stretch is looked at once."""
    text = lines.text
    yield from _of_vendors(lines)
    done = -1
    for at in sorted(set(offsets_of(lines.lower, _LOOSE_ROOTS, lines.lower_words))):
        if at < done or not (match := _LOOSE.match(text, at)):
            continue
        start, end = match.span("value")
        value = match["value"].rstrip(".=-")
        done = start
        lead = _LEAD.search(text, max(0, at - 40), at)
        before = lead.group(1).lower() if lead else ""
        line = text.rfind("\n", max(0, at - 24), at) + 1
        if before in _ORDINARY or _NO_SECRET.search(text, max(line, at - 24), at):
            continue
        is_sure = match.group().lower().startswith(_SURE) or (
            bool(before) and before not in ("the", "key", "with", "by")
        )
        if is_random_word(value) or (is_sure and _UUID.match(value)):
            done = end
            yield start, start + len(value), "token"


def _of_vendors(lines: Lines) -> Iterator[Hit]:
    """A random value that stands alone behind the name of a vendor: `zendesk 3f9…`, `"mailjet": "…"`."""
    text, lower = lines.text, lines.lower
    for place in _VENDOR_NEEDLES.within(lines.lower_words):
        name = _VENDORS[place]
        at = lower.find(name)
        while at >= 0:
            end = at + len(name)
            match = _OF_VENDOR.match(text, end)
            if match and is_random_word(match["value"]) and not _NO_SECRET.search(text, max(0, at - 24), at):
                yield *match.span("value"), "key"
            at = lower.find(name, end)
