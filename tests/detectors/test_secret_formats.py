"""Formats of secrets, from what vendors publish of them: samples are made here, none ever existed."""

from __future__ import annotations

from memoryhub.detectors import secrets
from tests.cases import for_each
from tests.detectors import findings_of
from tests.fixtures.secret_texts import HEX, UPPER, made

LOW = "bcdfghjkmnpqrstvwxz0123456789"
CRYPT = "./" + UPPER + UPPER.lower()
UUID = "-".join((made(8, HEX), made(4, HEX, 1), made(4, HEX, 2), made(4, HEX, 3), made(12, HEX)))
SLACK = "hooks.slack" + ".com"


def found(text: str) -> str:
    redacted, _ = secrets.redact(text)
    return redacted


@for_each(["acme", "zentool", "Mailbird", "north_api", "q7"], ["{v} TOKEN {s}", "{v}-SECRET-{s}", "{v}KEY {s}", "{v} access {s}", "{v} private key {s}", "{v}_token is {s}", "<apiToken>{s}</apiToken>", "<secret>{{{v} {s}}}</secret>",
     "the {v} secret {s}.", "`{v}_KEY={s}`", "{v}_key: {s}", "{v} api key ({s})", "https://{v}.example.com/v1/user?key={s}&x=1"], [made(32, LOW), made(40, LOW, 3), made(24, seed=4), made(40, HEX, 5)])  # fmt: skip
def test_a_random_value_beside_a_telling_word_needs_no_sign_between(vendor: str, shape: str, value: str) -> None:
    assert value not in found(f"Note: {shape.format(v=vendor, s=value)}")


@for_each(["acme token {}", "acme_secret {}", "auth token: {}", "https://api.example.com/u?key={}", "acmeSECRET-{}"])
def test_a_uuid_counts_where_a_word_says_that_it_opens_something(shape: str) -> None:
    assert UUID not in found(shape.format(UUID))


@for_each([f"the object key {UUID} is stored", f"commit key {made(40, HEX)}", f"primary key {UUID}", f"cache key {made(32, HEX)}", f"content-hash = \"{made(64, HEX)}\" # token file", f"contentHash: {made(64, HEX)} for the token list",
     f"content_hash={made(64, HEX)} in token.lock", "HUGGINGFACE_TOKENIZER=Xenova/gpt-4-turbo-2024", "HUGGINGFACE_TOKENIZER=BAAI/bge-m3-v2-1024", "TOKENIZERS_PARALLELISM=false0", "the key is src/auth/token2.py",
     "access 2024-11-19T08:30:00Z denied", "key `bg-yellow-500/10` and token `text-red-400/20`", "private repository acme/shop-api-2024", "token limit 128000 per call", "secret manager v1beta1.projects.secrets",
     "auth middleware AbstractAuthenticationFilter", "the access log /var/log/nginx/access.log.2024-11-19", "key ABC-1234 is the ticket", "tokens: 1234567 of 2000000 used", "use key `KeyboardEvent.code`"])  # fmt: skip
def test_what_is_beside_a_telling_word_is_often_ordinary(text: str) -> None:
    assert findings_of("secrets", text) == []


HASHES = {
    "bcrypt": "$2b$12$" + made(53, CRYPT), "argon2": "$argon2id$v=19$m=65536,t=3,p=4$" + made(22) + "$" + made(43), "sha512crypt": "$6$rounds=5000$" + made(16) + "$" + made(86, CRYPT),
    "sha256crypt": "$5$" + made(16) + "$" + made(43, CRYPT), "md5crypt": "$1$" + made(8) + "$" + made(22, CRYPT), "apr1": "$apr1$" + made(8) + "$" + made(22, CRYPT), "yescrypt": "$y$j9T$" + made(22) + "$" + made(43, CRYPT),
    "scrypt": "$scrypt$ln=16,r=8,p=1$" + made(22) + "$" + made(43), "werkzeug": "scrypt:32768:8:1$" + made(16) + "$" + made(128, HEX), "django": "pbkdf2_sha256$870000$" + made(22) + "$" + made(43) + "=",
    "werkzeug pbkdf2": "pbkdf2:sha256:600000$" + made(16) + "$" + made(64, HEX), "passlib": "$pbkdf2-sha256$29000$" + made(22) + "$" + made(43), "ldap": "{SSHA}" + made(38) + "==", "phpass": "$P$B" + made(30, CRYPT),
    "scram": "SCRAM-SHA-256$4096:" + made(22) + "==$" + made(43) + "=:" + made(43) + "=", "ntlm": "ops:1001:aad3b435b51404eeaad3b435b51404ee:" + made(32, HEX) + ":::", "kerberos": "$krb5tgs$23$*ops$EXAMPLE.ORG$" + made(32, HEX) + "$" + made(80, HEX),
}  # fmt: skip


@for_each(HASHES, ["{}", "root:{}:19000:0:99999:7:::", "hash: {}", "INSERT INTO users VALUES ('ops', '{}');"])
def test_a_hash_of_a_password_is_a_secret(name: str, shape: str) -> None:
    value = HASHES[name]
    assert value[-20:] not in found(shape.format(value)), name


WEBHOOKS = {
    "slack": f"https://{SLACK}/services/T0{made(8, UPPER)}/B0{made(8, UPPER)}/{made(24)}", "slack workflow": f"https://{SLACK}/workflows/T0{made(8, UPPER)}/A0{made(8, UPPER)}/4{made(17, '0123456789')}/{made(24)}",
    "discord": f"https://discord.com/api/webhooks/{made(18, '123456789')}/{made(68)}", "discord canary": f"https://canary.discord.com/api/v10/webhooks/{made(19, '123456789')}/{made(68)}",
    "teams": f"https://acme.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{made(32, HEX)}/{UUID}", "outlook": f"https://outlook.office.com/webhook/{UUID}@{UUID}/IncomingWebhook/{made(32, HEX)}/{UUID}",
    "power automate": f"https://prod-01.westeurope.logic.azure.com:443/workflows/{made(32, HEX)}/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sig={made(43)}", "zapier": f"https://hooks.zapier.com/hooks/catch/123456/{made(7)}",
    "make": f"https://hook.eu1.make.com/{made(32, LOW)}", "ifttt": f"https://maker.ifttt.com/trigger/deploy/with/key/{made(22)}", "feishu": f"https://open.feishu.cn/open-apis/bot/v2/hook/{UUID}",
    "dingtalk": f"https://oapi.dingtalk.com/robot/send?access_token={made(64, HEX)}", "wecom": f"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={UUID}", "mattermost": f"https://chat.example.org/hooks/{made(26, LOW)}",
    "google chat": f"https://chat.googleapis.com/v1/spaces/AAAA/messages?key={made(39)}&token={made(43)}", "telegram": f"https://api.telegram.org/bot{made(9, '123456789')}:AA{made(33)}/sendMessage",
}  # fmt: skip


@for_each(WEBHOOKS)
def test_the_address_of_a_webhook_is_a_secret(name: str) -> None:
    address = WEBHOOKS[name]
    assert address[-16:] not in found(f"Post the report to {address} when it is done."), name


@for_each(["Server=db1;Database=shop;User Id=svc;Password={};", "Data Source=10.0.0.7,1433;Initial Catalog=shop;User ID=svc;Password={};Encrypt=yes", "driver={{SQL Server}};server=db1;uid=svc;pwd={}", "amqps://svc:{}@mq.example.org/shop",
     "postgres://svc:{}@db.example.org:5432/shop", "machine git.example.org login ci password {}", "ConvertTo-SecureString '{}' -AsPlainText -Force", "psexec \\\\10.0.0.4 -u ACME\\svc -p {} cmd", "sonar.login=" + made(40, HEX) + "{}"])  # fmt: skip
def test_what_connects_holds_its_password(text: str) -> None:
    assert findings_of("secrets", text.format("" if "sonar" in text else "vK3pQ9xWz"))


@for_each(["api_org_" + made(34), "sgp_local_" + made(40, HEX), "squ_" + made(40, HEX), "AKCp" + made(69), "aio_" + made(28), "BBDC-" + made(44), "vcp_" + made(24), "tkn.v1_" + made(72), "NRAA-" + made(27, HEX), "odt_" + made(32),
     "waka_" + UUID, "SSWS 00" + made(40), "dp.scim." + made(43), "shppa_" + made(32, HEX), "rzp_live_" + made(14), "xoxd-" + made(60), "sk-lf-" + UUID, "cmVmdGtuOjAxOj" + made(50)])  # fmt: skip
def test_a_key_with_its_vendor_s_prefix_is_found_bare(key: str) -> None:
    assert findings_of("secrets", f"Use {key} for it.")


@for_each([f"cfut_{made(48)}", f"llx-{made(48)}", f"akab-{made(16, LOW)}-{made(16, LOW, 2)}", f"packagist_ack_{made(36, HEX)}", f"GOOG1{made(56, UPPER)}", f"phr_{made(48)}", f"PMAT-{made(26, UPPER)}", f"sbp_v0_{made(40, HEX)}",
     f"SWMTKN-1-{made(50, LOW)}-{made(25, LOW)}", f"SUA{made(55, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}", f"{made(36, HEX)}NRAL", f"3MVG9{made(79)}"])  # fmt: skip
def test_keys_of_further_vendors_are_found(secret: str) -> None:
    assert secret not in found(f"the value: {secret} here")


@for_each(["id:clerk pw:{}", "PW:={}", "any_pw={}", "clerk@203.0.113.9(PW:{})", "PSWD: {}", "ALTER USER clerk IDENTIFIED BY {};", "smtps://clerk@shop.example:{}@mail.shop.example:465"])  # fmt: skip
def test_short_names_of_passwords_are_known(shape: str) -> None:
    assert "dqPr128Gg" not in found(shape.format("dqPr128Gg"))


MORE = {
    "flat header": "Authorization: " + made(20, LOW) + "7" + made(24), "registry": '"auths": {"registry.example.org": {"auth": "' + made(44) + '"}}', "sun md5": "$md5,rounds=89650$" + made(8) + "$$" + made(22, CRYPT),
    "jfrog header": "X-JFrog-Art-Api: " + made(73), "discord bot": "M" + made(23) + "." + made(6, seed=2) + "." + made(38, seed=3), "discord mfa": "mfa." + made(84), "sha1crypt": "$sha1$40000$" + made(8) + "$" + made(28, CRYPT),
    "juniper": 'encrypted-password "$9$' + made(40, CRYPT) + '"', "cisco": "enable secret 8 $8$" + made(14, CRYPT) + "$" + made(43, CRYPT), "grub": "grub.pbkdf2.sha512.10000." + made(128, HEX.upper()) + "." + made(128, HEX.upper(), 2),
    "identity": "AQAAAAIAAYag" + made(72) + "==", "mssql": "0x0200" + made(136, HEX), "netntlm": "ops::CORP:" + made(16, HEX) + ":" + made(32, HEX) + ":" + made(100, HEX), "oracle dsn": "host=db1 user=svc password=" + made(12),
    "pipedream": "https://eo" + made(14, LOW) + ".m.pipedream.net", "n8n": "https://acme.app.n8n.cloud/webhook/" + UUID, "webhook.site": "https://webhook.site/" + UUID,
    "airtable": f"https://hooks.airtable.com/workflows/v1/genericWebhook/app{made(14)}/wfl{made(14, seed=2)}/wtr{made(14, seed=3)}", "render": f"https://api.render.com/deploy/srv-{made(20, LOW)}?key={made(11)}",
    "netlify": "https://api.netlify.com/build_hooks/" + made(24, HEX), "vercel": f"https://api.vercel.com/v1/integrations/deploy/prj_{made(28)}/{made(10)}", "pages": f"https://api.cloudflare.com/client/v4/pages/webhooks/deploy_hooks/{UUID}",
}  # fmt: skip


@for_each(MORE, ["{}", "Use {} for it.", "- {}\n"])
def test_further_formats_of_vendors_are_secrets(name: str, shape: str) -> None:
    assert MORE[name][-10:] not in found(shape.format(MORE[name])), name


def test_the_password_of_an_oracle_address_is_a_secret() -> None:
    assert made(12) not in found(f"jdbc:oracle:thin:svc/{made(12)}@db1:1521:ORCL")


@for_each(
    ["zendesk", "Mailjet", "TWITTER", "heroku", "sonar", "artifactory"],
    ["{v} {s}", '{v} = "{s}"', "{v}: {s}", '"{v}": "{s}"', "the {v} {s}."],
    [made(32, HEX, 7), made(40, seed=6), UUID],
)
def test_a_random_value_behind_a_vendors_name_is_a_secret(vendor: str, shape: str, value: str) -> None:
    assert value not in found(f"Note: {shape.format(v=vendor, s=value)}")


@for_each(["ffmpeg -af lowpass=f=3000 out.mp4", "passwords **shorter than 8", "[password hashing](https://example.com/a)", '"credential": "brave_search"',
     "ssh -o PreferredAuthentications=password user@192.168.1.100", "credentials: oauth-2025-04-20", "sentry commit " + made(40, HEX), "std::vector<int>::iterator", "square 12345678901234567890"])  # fmt: skip
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    assert findings_of("secrets", text) == []


@for_each(["key: AKIA" + "IOSFODNN7EXAMPLE", "postgres://admin:password123@db:5432/app", "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + made(43)])  # fmt: skip
def test_published_samples_are_taken_for_secrets(text: str) -> None:
    assert findings_of("secrets", text)
