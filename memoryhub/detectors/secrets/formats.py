"""More shapes with a beginning of their own: password hashes, and addresses of webhooks, whose path is the key.

Read by `provider_keys` as its own table is: kind, beginnings with bars between them, what follows a beginning.
"""

from __future__ import annotations

from .values import UUID

_B64 = r"[A-Za-z0-9+/]"
_CRYPT = r"[./A-Za-z0-9]"

PASSWORD_HASHES: tuple[tuple[str, str, str], ...] = (
    ("password hash", "$2a$|$2b$|$2y$|$2x$", rf"\d\d\${_CRYPT}{{53}}"),
    ("password hash", "$argon2id$|$argon2i$|$argon2d$", rf"(?:v=\d+\$)?m=\d+,t=\d+,p=\d+\${_B64}{{8,}}={{0,2}}\${_B64}{{20,}}={{0,2}}"),
    ("password hash", "$6$|$5$", rf"(?:rounds=\d+\$)?[^$\s:]{{1,16}}\${_CRYPT}{{43,86}}"),
    ("password hash", "$1$|$apr1$", rf"[^$\s:]{{1,8}}\${_CRYPT}{{22}}"),
    ("password hash", "$y$|$gy$|$7$", rf"{_CRYPT}{{2,20}}\$?{_CRYPT}{{4,90}}\${_CRYPT}{{40,90}}"),
    ("password hash", "$scrypt$", rf"[^\s$]{{3,40}}\${_B64}{{8,}}={{0,2}}\${_B64}{{20,}}={{0,2}}"),
    ("password hash", "scrypt:", r"\d+:\d+:\d+\$[^\s$]{6,40}\$[a-f0-9]{64,}"),
    ("password hash", "pbkdf2_sha256$|pbkdf2_sha1$|pbkdf2_sha512$|scrypt$|bcrypt_sha256$", r"\d+\$[^\s]{4,80}\$[^\s]{20,200}"),
    ("password hash", "pbkdf2:sha1|pbkdf2:sha256|pbkdf2:sha512", r":\d+\$[^\s$]{4,40}\$[a-f0-9]{40,}"),
    ("password hash", "$pbkdf2$|$pbkdf2-sha1$|$pbkdf2-sha256$|$pbkdf2-sha512$", r"(?:\d+|[^\s$]{3,40})\$[./A-Za-z0-9+]{6,}\$[./A-Za-z0-9+]{20,}"),
    ("password hash", "{SSHA}|{SHA}|{SMD5}|{MD5}|{SSHA256}|{SSHA512}|{SHA512}", rf"{_B64}{{20,}}={{0,2}}"),
    ("password hash", "$md5,rounds=|$md5$", rf"[^\s]{{1,24}}\${{1,2}}{_CRYPT}{{22}}"),
    ("password hash", "$sha1$", rf"\d+\${_CRYPT}{{1,64}}\${_CRYPT}{{28}}"),
    ("password hash", "$9$", r"[A-Za-z0-9./-]{16,}"),
    ("password hash", "$8$", rf"{_CRYPT}{{14}}\${_CRYPT}{{43}}"),
    ("password hash", "grub.pbkdf2.sha512.", r"\d+\.[A-F0-9]{32,}\.[A-F0-9]{64,}"),
    ("password hash", "AQAAAAEAACcQ|AQAAAAIAAYag", rf"{_B64}{{64,80}}={{0,2}}"),
    ("password hash", "0x0200", r"[a-fA-F0-9]{136}(?!\w)"),
    ("password hash", "0x0100", r"(?:[a-fA-F0-9]{48}|[a-fA-F0-9]{88})(?!\w)"),
    ("password hash", "::", r"[\w.-]{1,30}:[a-fA-F0-9]{16}:[a-fA-F0-9]{32}:[a-fA-F0-9]{20,}"),
    ("password hash", "$P$|$H$", rf"{_CRYPT}{{31}}"),
    ("password hash", "$S$", rf"{_CRYPT}{{52}}"),
    ("password hash", "$NT$", r"\$?[a-fA-F0-9]{32}"),
    ("password hash", "$krb5asrep$|$krb5tgs$|$krb5pa$", r"\d{1,2}\$[^\s]{60,}"),
    ("password hash", "$DCC2$", r"\d+#[^#\s]{1,60}#[a-f0-9]{32}"),
    ("password hash", "SCRAM-SHA-256$|SCRAM-SHA-1$", rf"\d+:{_B64}{{8,}}={{0,2}}\${_B64}{{20,}}={{0,2}}:{_B64}{{20,}}={{0,2}}"),
    ("password hash", ":aad3b435b51404eeaad3b435b51404ee:", r"[a-fA-F0-9]{32}"),
)  # fmt: skip

WEBHOOKS: tuple[tuple[str, str, str], ...] = (
    ("Slack webhook", "hooks.slack.com/services/|hooks.slack-gov.com/services/", r"T\w{5,}/B\w{5,}/\w{16,}"),
    ("Slack webhook", "hooks.slack.com/workflows/|hooks.slack.com/triggers/", r"\w+/[\w/]{16,}"),
    ("Discord webhook", "discord.com/api/|discordapp.com/api/", r"(?:v\d{1,2}/)?webhooks/\d{15,}/[\w-]{50,}"),
    ("Teams webhook", "outlook.office.com/webhook/|outlook.office365.com/webhook/", rf"{UUID}@{UUID}/\w+/\w{{20,}}/[\w-]{{20,}}"),
    ("Teams webhook", ".logic.azure.com:443/workflows/|.logic.azure.com/workflows/|.api.powerplatform.com/powerautomate/", r"[^\s\"'<>]{20,}[?&]sig=[\w%-]{20,}"),
    ("Google Chat webhook", "chat.googleapis.com/v1/spaces/", r"[\w-]+/messages\?[^\s\"'<>]*(?:key|token)=[\w%-]{20,}[^\s\"'<>]*"),
    ("Zapier webhook", "hooks.zapier.com/hooks/catch/", r"\d+/\w{6,}"),
    ("Make webhook", ".make.com/|.integromat.com/", r"(?=\w{0,30}\d)[a-z0-9]{28,40}(?![\w/])"),
    ("Pipedream webhook", "https://eo", r"[a-z0-9]{12,20}\.m\.pipedream\.net"),
    ("webhook", "/webhook/|/webhook-test/|webhook.site/", UUID),
    ("Airtable webhook", "hooks.airtable.com/workflows/v1/genericWebhook/", r"app\w{10,}/wfl\w{10,}/wtr\w{10,}"),
    ("deploy hook", "api.render.com/deploy/", r"srv-\w{16,}\?key=[\w-]{8,}"),
    ("deploy hook", "api.netlify.com/build_hooks/", r"[a-f0-9]{24}"),
    ("deploy hook", "api.vercel.com/v1/integrations/deploy/", r"prj_\w{20,}/\w{8,}"),
    ("deploy hook", "/pages/webhooks/deploy_hooks/", UUID),
    ("IFTTT webhook", "maker.ifttt.com/", r"(?:use/|trigger/[\w-]+/(?:json/)?with/key/)[\w-]{20,}"),
    ("Feishu webhook", "open.feishu.cn/open-apis/bot/v2/hook/|open.larksuite.com/open-apis/bot/v2/hook/", UUID),
    ("DingTalk webhook", "oapi.dingtalk.com/robot/send?access_token=", r"[a-f0-9]{64}"),
    ("WeCom webhook", "qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", UUID),
    ("Webex webhook", "webexapis.com/v1/webhooks/incoming/", r"[\w-]{60,}"),
    ("Mattermost webhook", "/hooks/", r"[a-z0-9]{26}(?!\w)"),
    ("Rocket.Chat webhook", "/hooks/", r"[A-Za-z0-9]{17,24}/[A-Za-z0-9]{30,}"),
    ("Telegram bot token", "api.telegram.org/bot", r"\d{8,10}:[\w-]{30,}"),
    ("Healthchecks address", "hc-ping.com/", UUID),
    ("PagerDuty webhook", "events.pagerduty.com/integration/", r"[a-f0-9]{32}"),
    ("Opsgenie webhook", "api.opsgenie.com/v1/json/", rf"[\w/]{{0,40}}\?apiKey={UUID}"),
)  # fmt: skip

MORE_KEYS: tuple[tuple[str, str, str], ...] = (
    ("Cloudflare token", "cfat_|cfut_|cfk_", r"[A-Za-z0-9]{40,64}(?![\w-])"),
    ("Discord token", "mfa.", r"[\w-]{80,90}(?![\w-])"),
    ("LlamaCloud key", "llx-", r"[\w-]{40,64}"),
    ("Akamai token", "akab-", r"[a-z0-9]{16}-[a-z0-9]{16}"),
    ("Packagist token", "packagist_ack_|packagist_acs_|packagist_out_|packagist_oat_|packagist_ust_|packagist_uut_", r"(?=\w*\d)(?=\w*[a-z])[a-f0-9]{28,}"),
    ("Google HMAC key", "GOOG1", r"[A-Z0-9]{50,62}(?!\w)"),
    ("Salesforce consumer key", "3MVG", r"(?=[\w.]*\d)[\w.]{60,100}"),
    ("PostHog key", "pha_|phr_", r"[A-Za-z0-9]{40,}"),
    ("Postman token", "PMAT-", r"[A-Z0-9]{26}(?![A-Za-z0-9])"),
    ("Supabase token", "sbp_v0_", r"[a-f0-9]{40}"),
    ("Docker Swarm token", "SWMTKN-1-", r"[a-z0-9]{48,52}-[a-z0-9]{25}"),
    ("NATS seed", "SUA|SAA|SOA|SCA|SNA", r"[A-Z2-7]{55}(?!\w)"),
    ("Instagram token", "IGQV", r"[\w-]{80,}"),
    ("NTLM message", "TlRMTVNTUAAD", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("Vercel token", "vcp_|vci_|vca_|vcr_|vck_", r"[A-Za-z0-9]{24,}"),
    ("GitHub token", "ghs_", r"\d+_eyJ[\w.-]{60,}"),
    ("Shopify token", "shpss_|shpat_|shpca_", r"[A-Za-z0-9]{32,}"),
    ("Supabase token", "sbp_", r"[a-z0-9]{40}"),
    ("StackHawk key", "hawk.", r"[A-Za-z0-9_-]{20}\.[A-Za-z0-9_-]{20}"),
    ("Teamwork token", "tkn.v1_", r"[A-Za-z0-9+/]{60,}={0,2}"),
    ("Square secret", "sq0idp-", r"[\w-]{22}"),
    ("Nightfall key", "NF-", r"[A-Za-z0-9]{32}(?!\w)"),
    ("Pagar.me key", "ak_live_|ak_test_", r"[A-Za-z0-9]{24,}"),
    ("PubNub key", "sec-c-", r"[A-Za-z0-9-]{36,}"),
    ("PostHog key", "phx_|phs_", r"[A-Za-z0-9_]{40,}"),
    ("Okta token", "SSWS ", r"00[\w-]{40}"),
    ("Telnyx key", "KEY", r"[A-Za-z0-9_-]{36,}_[A-Za-z0-9]{20,}"),
    ("Ethereum key", "private key 0x|privateKey: 0x|PRIVATE_KEY=0x", r"[a-fA-F0-9]{64}(?!\w)"),
    ("JSON web token", "eyJ", r"[A-Za-z0-9_-]{14,}\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
)  # fmt: skip
