"""The hub's own settings over one PostgreSQL per test run, in a directory of its own.

pytest-django reads the settings before any conftest.py, so the directory is chosen here; workers of pytest-xdist
inherit it by environment. `conftest.py` starts the server when the first test asks for it, and stops it.
"""

import os
import tempfile
from pathlib import Path

from tests import places

if "MEMORYHUB_TEST_RUN" not in os.environ:
    # The name says whose run it is: what a killed run left behind is removed by the next one.
    place = tempfile.mkdtemp(prefix=f"memoryhub-test-{os.getpid()}-", dir=places.for_databases())
    os.environ["MEMORYHUB_TEST_RUN"] = os.environ["MEMORYHUB_DATA_DIR"] = place
    for name in ("DATABASE_URL", "SECRET_KEY", "ALLOWED_HOSTS", "DEBUG", "MEMORYHUB_URL", "MEMORYHUB_TOKEN"):
        os.environ.pop(name, None)
    os.environ["MEMORYHUB_LANGUAGE"] = "en"  # whatever this terminal speaks
    for name in [name for name in os.environ if name.startswith("MEMORYHUB_EMBEDDER")]:
        del os.environ[name]
    os.environ["MEMORYHUB_OUTBOUND"] = "loopback"  # where tests listen for webhooks and play models
    # Another server than the embedded one, say PostgreSQL 15: a role with CREATEDB, the extension vector in template1.
    if url := os.environ.get("TEST_DATABASE_URL"):
        os.environ["DATABASE_URL"] = url

from memoryhub.settings import *  # noqa: F403

SHARES_DATABASE = False  # also on a server of one's own: the tests of several nodes say so themselves
TEST_DATA_DIR = Path(os.environ["MEMORYHUB_TEST_RUN"])
(TEST_DATA_DIR / "static").mkdir(exist_ok=True)  # `memoryhub up` collects into it; tests are served from the tree
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
