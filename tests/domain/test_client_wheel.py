"""The client's wheel: what is in it, that pip takes it, and that it is the same bytes everywhere."""

import base64
import csv
import hashlib
import io
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import memoryhub
from memoryhub.domain import exchange
from tests.running import TREE, clean

module = sys.modules["memoryhub.domain.exchange.client_wheel"]  # its function has its name
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel():
    return exchange.client_wheel()


@pytest.fixture(scope="module")
def archive(wheel):
    return zipfile.ZipFile(io.BytesIO(wheel.content))


def requirement(text):
    """Name and bounds of a requirement, whatever their order."""
    name, bounds = re.fullmatch(r"([\w-]+)(.*)", text.replace(" ", "")).groups()
    return name, frozenset(bounds.split(","))


def test_the_name_and_the_digest(wheel):
    assert wheel.name == f"memoryhub_client-{memoryhub.__version__}-py3-none-any.whl"
    assert wheel.sha256 == hashlib.sha256(wheel.content).hexdigest()
    assert memoryhub.__version__ == PROJECT["version"]


def test_it_holds_the_client_and_nothing_else_of_the_hub(archive):
    names = archive.namelist()
    assert "memoryhub/__init__.py" in names and "memoryhub/client/langgraph_store.py" in names
    assert all(
        re.match(r"memoryhub/(__init__\.py|client/)|memoryhub_client-[\d.]+\.dist-info/", name) for name in names
    )
    assert len(names) == len(set(names)) == len(list((TREE / "memoryhub/client").rglob("*.py"))) + 1 + 4


def test_nothing_in_it_imports_the_hub_or_django(archive, tmp_path):
    archive.extractall(tmp_path)
    code = (
        "import sys; sys.modules['django'] = None; import memoryhub.client, memoryhub.client.commands, memoryhub.client.syncing\n"
        "print(memoryhub.__file__); print([m for m in sys.modules if m.startswith('memoryhub.') and 'client' not in m])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=clean())
    assert told.stderr == "" and told.stdout.split() == [str(tmp_path / "memoryhub/__init__.py"), "[]"]


def test_the_metadata_says_what_pyproject_says(archive, wheel):
    told = Parser().parsestr(archive.read(f"memoryhub_client-{wheel.version}.dist-info/METADATA").decode())
    assert (told["Name"], told["Version"]) == ("memoryhub-client", wheel.version)
    assert told["Requires-Python"] == PROJECT["requires-python"]
    httpx = next(one for one in PROJECT["dependencies"] if one.startswith("httpx"))
    needs = told.get_all("Requires-Dist")
    assert [requirement(one) for one in needs if ";" not in one] == [requirement(httpx)]
    assert set(told.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"]) == set(exchange.CLIENT_EXTRAS)
    for extra, wanted in PROJECT["optional-dependencies"].items():
        found = [one.partition(";")[0] for one in needs if one.endswith(f'extra == "{extra}"')]
        assert [requirement(one) for one in found] == [requirement(one) for one in wanted]


def test_the_record_lists_every_file_with_its_digest(archive, wheel):
    record = f"memoryhub_client-{wheel.version}.dist-info/RECORD"
    rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
    assert [row[0] for row in rows] == archive.namelist()
    assert rows[-1] == [record, "", ""]
    for name, digest, size in rows[:-1]:
        content = archive.read(name)
        expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={expected}", len(content))


def test_the_same_files_give_the_same_bytes(wheel, tmp_path, monkeypatch):
    """Made of a copy with other times and rights, in another process's memory."""
    for name in ("__init__.py", *(f"client/{one.relative_to(TREE / 'memoryhub/client')}" for one in sources())):
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((TREE / "memoryhub" / name).read_bytes())
        copy.chmod(0o600)
    (tmp_path / "client/__pycache__").mkdir()
    (tmp_path / "client/__pycache__/hub.cpython-311.pyc").write_bytes(b"left out")
    monkeypatch.setattr(module, "PACKAGE", tmp_path)
    module.client_wheel.cache_clear()
    try:
        assert exchange.client_wheel().sha256 == wheel.sha256
    finally:
        module.client_wheel.cache_clear()


def sources():
    return [Path(one) for one in sorted((TREE / "memoryhub/client").rglob("*.py"))]
