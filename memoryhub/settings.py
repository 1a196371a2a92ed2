"""Environment in, Django out. Every variable is read here, through `env`, and stands in docs/operate/settings.md."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from memoryhub import settings_addresses, settings_sign_in
from memoryhub.environment import env, env_bool, env_number
from memoryhub.server import datadir
from memoryhub.settings_addresses import EMBEDDER_SERVERS  # noqa: F401  pages name them

PACKAGE = Path(__file__).resolve().parent
BASE_DIR = PACKAGE.parent
EMBEDDERS = ("wordllama", "openai_endpoint", "hashing")
# A worker has one thread. What numpy reckons takes it a tenth of a millisecond; threads of numpy's own, which fight for the
# cores with the other workers, made 14 of it on a busy machine. Read once, when numpy is first loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def secret_key(data_dir: Path) -> str:
    """The secret key: from the environment, else made once and kept in the data directory, readable by its owner alone."""
    if given := env("SECRET_KEY"):
        if len(given) < 32:
            raise ImproperlyConfigured("SECRET_KEY is too short; allowed is 32 characters or more.")
        return given
    kept = data_dir / "secret_key"
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        return kept.read_text().strip()
    made = secrets.token_urlsafe(48)
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Exclusive: of two processes starting at once, both use the key of the first.
        with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as f:
            f.write(made)
    except OSError as error:
        if isinstance(error, FileExistsError) and kept.is_file():
            return kept.read_text().strip()
        return made  # a command that needs no data directory still runs; `up` refuses an unwritable one by name
    return made


def node_id(data_dir: Path) -> str:
    """Which node this is, for hubs that share a database: named by the setting, else drawn once and kept in the data directory,
    so that a machine may change its name."""
    kept = data_dir / "node"
    with contextlib.suppress(OSError):
        return kept.read_text().strip()[:64]
    made = secrets.token_hex(8)
    try:
        with open(kept, "x") as f:
            f.write(made)
    except FileExistsError:
        return kept.read_text().strip()[:64]
    except OSError:
        pass  # a command that needs no data directory still runs
    return made


def node_name(given: str) -> str:
    if len(given) > 64 or not given.isprintable():
        raise ImproperlyConfigured(
            "MEMORYHUB_NODE is too long or unreadable; allowed are 64 characters, such as web-1."
        )
    return given


def embedder(choice: str) -> str:
    """Names one of the embedders; a model of it may follow after a colon."""
    if choice.partition(":")[0] not in EMBEDDERS:
        raise ImproperlyConfigured(f"MEMORYHUB_EMBEDDER is {choice!r}; allowed is one of: {', '.join(EMBEDDERS)}.")
    return choice


def mount_roots(given: str) -> list[str]:
    """Directories below which owners of spaces may mount; none means wherever the hub itself keeps nothing."""
    roots = [root.strip() for root in given.split(os.pathsep) if root.strip()]
    if not all(os.path.isabs(os.path.expanduser(root)) for root in roots):
        raise ImproperlyConfigured(
            f"MEMORYHUB_MOUNT_ROOTS is {given!r}; allowed is a list of absolute directories: /srv/memories{os.pathsep}/home/team."
        )
    return [os.path.expanduser(root) for root in roots]


def language(given: str) -> str:
    """The language for whoever chose none: `en` or `zh-hans`, also as `zh`, `zh-CN` or `zh_CN.UTF-8`."""
    main = re.split(r"[-_.]", given.lower())[0]
    if main not in ("en", "zh"):
        raise ImproperlyConfigured(f"MEMORYHUB_LANGUAGE is {given!r}; allowed is one of: en, zh-hans.")
    return {"zh": "zh-hans"}.get(main, main)


DEBUG = env_bool("DEBUG")
DATA_DIR = Path(env("MEMORYHUB_DATA_DIR") or datadir.default_data_dir()).expanduser().absolute()
SECRET_KEY = secret_key(DATA_DIR)
NODE = node_name(env("MEMORYHUB_NODE"))
NODE_ID = NODE or node_id(DATA_DIR)
NODE_NAME = NODE or socket.gethostname()
ALLOWED_HOSTS = settings_addresses.allowed_hosts(env("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]"))
BEHIND_TLS = env_bool("MEMORYHUB_BEHIND_TLS")
PGBOUNCER = env_bool("MEMORYHUB_PGBOUNCER")
REQUEST_SECONDS = env_number("MEMORYHUB_REQUEST_SECONDS", 30, 1, 3600)  # then a request is ended with its worker
DATABASE_SECONDS = env_number("MEMORYHUB_DATABASE_SECONDS", 20, 2, 3600)  # that one statement of a request may take
# How long cached prompts are handed out while the database is away; 0: not at all.
STALE_PROMPT_SECONDS = env_number("MEMORYHUB_STALE_PROMPT_SECONDS", 0, 0, 604_800)
# How many requests a minute one address may send without a valid token or session, to each web worker; 0: no limit.
STRANGER_REQUESTS = env_number("MEMORYHUB_STRANGER_REQUESTS", 600, 0, 1_000_000)
# Whether each start prints a link that signs the owner of the hub in, once and for 15 minutes.
OWNER_LINK = env_bool("MEMORYHUB_OWNER_LINK", True)
OUTBOUND = settings_addresses.outbound(env("MEMORYHUB_OUTBOUND"))  # for webhooks, judges and the embedder
FRONT_SPACE = env("MEMORYHUB_FRONT_SPACE")  # where `/` leads a person who has not chosen a space yet
MOUNT_ROOTS = mount_roots(env("MEMORYHUB_MOUNT_ROOTS"))
# Where the weights of wordllama are missing (a machine without its wheel), texts are compared by hashed words.
EMBEDDER = embedder(env("MEMORYHUB_EMBEDDER", "wordllama" if find_spec("wordllama") else "hashing"))
EMBEDDER_URL = settings_addresses.embedder_url(env("MEMORYHUB_EMBEDDER_URL"), EMBEDDER)
EMBEDDER_KEY = env("MEMORYHUB_EMBEDDER_KEY")
JUDGE_KEY = env("MEMORYHUB_JUDGE_KEY")
PUBLIC_URL = settings_addresses.public_url(env("MEMORYHUB_PUBLIC_URL"))
globals().update(settings_addresses.mail(env("MEMORYHUB_MAIL_URL")))
DEFAULT_FROM_EMAIL = env("MEMORYHUB_MAIL_FROM", "memoryhub@localhost")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "memoryhub",
]
MIDDLEWARE = [
    "memoryhub.middleware.request_ids",
    "memoryhub.middleware.security_headers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "memoryhub.middleware.Compression",
    "memoryhub.middleware.hidden_characters",
    "memoryhub.middleware.api_calls",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "memoryhub.middleware.FormCheck",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",  # its apps do not start without it
    "django_htmx.middleware.HtmxMiddleware",
    "memoryhub.proxy_sign_in.proxy_sign_in",
    "memoryhub.middleware.language",
    "memoryhub.middleware.local_time",
    "memoryhub.middleware.last_seen",
    "memoryhub.middleware.refusals",
]
ROOT_URLCONF = "memoryhub.urls"
WSGI_APPLICATION = "memoryhub.wsgi.application"


def packaged(name: str) -> Path:
    """A top-level folder of the tree; inside an installed wheel it lies within the package."""
    return BASE_DIR / name if (BASE_DIR / "manage.py").exists() else PACKAGE / f"_{name}"


# What shows the API's document. As an app of Django ninja would be imported by every command, a fifth of its start.
NINJA = Path(str(find_spec("ninja").origin)).parent  # type: ignore[union-attr]
LOADERS = ["memoryhub.loaders.WithoutIndentation", "django.template.loaders.app_directories.Loader"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [packaged("templates"), NINJA / "templates"],
        "OPTIONS": {
            "loaders": [("memoryhub.loaders.ByLanguage", LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memoryhub.web.context.page",
            ],
            "builtins": [
                "memoryhub.templatetags.translation",
                "django.templatetags.static",
                "memoryhub.templatetags.glyphs",
                "memoryhub.templatetags.hub",
                "memoryhub.templatetags.agent_names",
                "django_htmx.templatetags.django_htmx",
            ],
        },
    }
]
DATABASE_URL = env("DATABASE_URL")  # empty: the embedded server
SHARES_DATABASE = bool(DATABASE_URL)  # other nodes may run on it
DATABASES = {"default": settings_addresses.database(DATABASE_URL, DATA_DIR, PGBOUNCER)}
REPLICA_URL = env("MEMORYHUB_REPLICA_URL")  # of a streaming replica, for reading
if REPLICA_URL:
    DATABASES["replica"] = settings_addresses.replica(REPLICA_URL, DATA_DIR, PGBOUNCER)
    DATABASE_ROUTERS = ["memoryhub.db.replica.Router"]

AUTH_USER_MODEL = "memoryhub.Person"
# The second is that of sessions which an earlier version began.
AUTHENTICATION_BACKENDS = ["memoryhub.sessions.SignedIn", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "/login/"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
    {"NAME": "memoryhub.passwords.ContextWords"},
]

# allauth is used for its models, second factors and the client of OpenID Connect; no page and no address of it is.
ACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_ADAPTER = "memoryhub.web.oidc.Fetching"
MFA_ADAPTER = "memoryhub.domain.accounts.second_factor.Adapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_RECOVERY_CODE_DIGITS = 10
MFA_RECOVERY_CODE_COUNT = 10
OIDC = settings_sign_in.oidc()
PROXY = settings_sign_in.proxy()
# Whose X-Forwarded- headers count behind TLS.
TRUSTED_PROXIES = settings_sign_in.trusted_proxies(env("MEMORYHUB_TRUSTED_PROXIES", "loopback,private"))
GROUP_ROLES = settings_sign_in.group_roles(env("MEMORYHUB_GROUP_ROLES"))

LANGUAGE_CODE = "en"  # what programs get; pages activate the language of who reads them (memoryhub/languages.py)
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [PACKAGE / "locale"]
HUB_LANGUAGE = language(env("MEMORYHUB_LANGUAGE", "en"))
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [packaged("static"), NINJA / "static"]
STATIC_ROOT = DATA_DIR / "static"
# `memoryhub up` collects static files into STATIC_ROOT, compressed and named by their content; anything else (tests,
# manage.py) serves them straight from the tree. Other web servers in front of wsgi.py set this after `collectstatic`.
COLLECTED = env_bool("MEMORYHUB_COLLECTED")
PLAIN_FILES, COLLECTED_FILES = (
    "django.contrib.staticfiles.storage.StaticFilesStorage",
    "memoryhub.server.static_files.HashedStorage",
)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": COLLECTED_FILES if COLLECTED else PLAIN_FILES},
}
WHITENOISE_USE_FINDERS = not COLLECTED
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # no page asks for the others, and each would be compressed, too
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024

SESSION_LASTS = timedelta(days=env_number("MEMORYHUB_SESSION_DAYS", 30, 1, 365))
SESSION_IDLE = timedelta(hours=env_number("MEMORYHUB_SESSION_IDLE_HOURS", 168, 0, 8760))  # 0: no limit
SESSION_COOKIE_AGE = int(SESSION_LASTS.total_seconds())
SESSION_ENGINE = "memoryhub.sessions"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "memoryhub_session"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_NAME = "memoryhub_csrf"
CSRF_FAILURE_VIEW = "memoryhub.web.errors.csrf"
CSRF_TRUSTED_ORIGINS = [f"https://{h.lstrip('.')}" for h in ALLOWED_HOSTS if BEHIND_TLS and h != "*"]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
if BEHIND_TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True  # those below the hub's own name
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    # With this prefix no other host of the domain can set them, nor a page without TLS.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"__Host-{SESSION_COOKIE_NAME}", f"__Host-{CSRF_COOKIE_NAME}"
    SECURE_SSL_REDIRECT = False  # the proxy's work; health checks reach us in plain HTTP

MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"tokens": {"()": "memoryhub.requests.HideTokens"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["tokens"]},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "memoryhub": {"level": "INFO"},
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"propagate": False, "handlers": ["nowhere"]},  # scanners fill logs with it
    },
}
