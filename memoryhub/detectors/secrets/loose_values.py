"""Random values right behind a telling word, or the name of a vendor of keys, with no sign between them: `acme TOKEN 5us4rjh9ebx…`, `<secret>…</secret>`.

A blank joins ordinary words, too, so the value has to be one that nobody writes as a word: mixed from letters and digits, or a UUID.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Lines
from ..patterns import bounded, linear
from ..scanning import Needles, offsets_of
from .provider_keys import Hit
from .values import UUID, is_random_word

_ROOTS = ("key", "token", "secret", "private", "access", "credential", "auth", "pass")
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
    for at in sorted(set(offsets_of(lines.lower, _ROOTS, lines.lower_words))):
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
