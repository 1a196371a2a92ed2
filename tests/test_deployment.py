"""What the documents give to copy (units, a Compose file, a container file, lines of a proxy) is what the tools understand."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from memoryhub.__main__ import own_commands
from tests.running import TREE
from tests.test_docs import read_from_the_environment

INSTALL, SCALE = ((TREE / f"docs/operate/{name}.md").read_text() for name in ("install", "scale"))
# What the image of PgBouncer and that of PostgreSQL read; the hub never sees them.
OF_OTHERS = {
    "pgvector/pgvector:pg17": {"POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_DB"},
    "edoburu/pgbouncer": {"DATABASE_URL", "POOL_MODE", "AUTH_TYPE", "MAX_CLIENT_CONN", "IGNORE_STARTUP_PARAMETERS"},
}


def blocks(page: str, of: str) -> list[str]:
    """The code blocks of a page that contain a text."""
    return [one for one in re.findall(r"^```\w*\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if of in one]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    (text,) = blocks(SCALE, "services:")
    return yaml.safe_load(text)


class TestCompose:
    def test_each_name_that_is_used_is_there(self, compose):
        assert set(compose) == {"services", "configs", "volumes"}
        services = compose["services"]
        for name, service in services.items():
            assert service["image"] in ("memoryhub", "caddy:2", *OF_OTHERS), name
            assert set(service.get("depends_on", [])) <= set(services)
            volumes = {one.partition(":")[0] for one in service.get("volumes", [])}
            assert volumes <= set(compose["volumes"])
            assert {one["source"] for one in service.get("configs", [])} <= set(compose["configs"])

    def test_environments_are_settings_of_what_they_are_for(self, compose):
        for service in compose["services"].values():
            known = OF_OTHERS.get(service["image"], read_from_the_environment())
            assert set(service.get("environment", {})) <= known

    def test_nodes_differ_by_their_name_alone(self, compose):
        hubs = {name: one for name, one in compose["services"].items() if one["image"] == "memoryhub"}
        assert len(hubs) == 2
        names = [one["environment"].pop("MEMORYHUB_NODE") for one in hubs.values()]
        assert names == list(hubs)
        assert [one.pop("volumes") for one in hubs.values()] == [[f"{name}:/data"] for name in names]
        first, second = hubs.values()
        assert first == second
        program, command, *_ = first["command"]
        assert (program, command in own_commands()) == ("memoryhub", True)  # the image has no entry point

    def test_addresses_lead_to_the_services_and_passwords_agree(self, compose):
        services = compose["services"]
        database = services["database"]["environment"]
        where = re.compile(r"postgresql://(\w+):([\w-]+)@(\w+):5432/(\w+)$")
        for name, host in (("bouncer", "database"), ("web-1", "bouncer")):
            assert where.match(services[name]["environment"]["DATABASE_URL"]).groups() == (
                database["POSTGRES_USER"], database["POSTGRES_PASSWORD"], host, database["POSTGRES_DB"],
            )  # fmt: skip
        port = services["web-1"]["command"][-1]
        proxied = re.search(r"reverse_proxy (.*) {", compose["configs"]["caddyfile"]["content"])[1].split()
        assert proxied == [f"web-1:{port}", f"web-2:{port}"]
        public = services["web-1"]["environment"]["ALLOWED_HOSTS"]
        assert compose["configs"]["caddyfile"]["content"].count(public) == 2

    def test_the_proxy_understands_its_lines(self, compose, tmp_path):
        program = shutil.which("caddy")
        if not program:
            pytest.skip("Caddy is not installed")
        (tmp_path / "Caddyfile").write_text(compose["configs"]["caddyfile"]["content"])
        line = [program, "validate", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")]
        done = subprocess.run(line, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr


class TestSystemd:
    @pytest.fixture
    def units(self, tmp_path) -> Path:
        """The unit and what a node puts beside it, as somebody who follows the page has them; only the program is another."""
        (unit,) = blocks(INSTALL, "[Install]")
        (node,) = blocks(SCALE, "[Service]")
        (tmp_path / "memoryhub.service.d").mkdir()
        (tmp_path / "memoryhub.service").write_text(unit)
        (tmp_path / "memoryhub.service.d/node.conf").write_text(node)
        for path in tmp_path.rglob("*.*"):
            if path.is_file():
                path.write_text(path.read_text().replace("/opt/memoryhub/bin/memoryhub", shutil.which("true")))
        return tmp_path

    @pytest.mark.parametrize("is_node", [False, True])
    def test_the_unit_is_understood(self, units, is_node):
        program = shutil.which("systemd-analyze")
        if not program:
            pytest.skip("systemd is not installed")
        if not is_node:
            shutil.rmtree(units / "memoryhub.service.d")
        done = subprocess.run(
            [program, "verify", "--man=no", str(units / "memoryhub.service")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        said = [line for line in done.stderr.splitlines() if "memoryhub" in line]
        assert said == []

    def test_a_node_needs_no_directory(self, units):
        """`ReadWritePaths` of a folder that is not there keeps a unit from starting."""
        lines = (units / "memoryhub.service.d/node.conf").read_text().splitlines()
        assert {"ExecStart=", "ReadWritePaths="} <= set(lines)

    def test_environment_files_name_settings(self):
        for page in (INSTALL, SCALE):
            for block in blocks(page, "ALLOWED_HOSTS="):
                named = set(re.findall(r"^([A-Z_]+)=", block, re.MULTILINE))
                assert named <= read_from_the_environment()

    def test_programs_and_commands_exist(self):
        for line in re.findall(r"^ExecStart=(.+)$", INSTALL + SCALE, re.MULTILINE):
            assert line.split()[1] in own_commands()


@pytest.mark.attack
def test_the_container_of_the_documents_is_built_and_starts(tmp_path):
    """Where a container engine runs."""
    engine = next((one for one in ("podman", "docker") if shutil.which(one) and runs(one)), None)
    if engine is None:
        pytest.skip("no container engine runs here")
    (text,) = blocks(INSTALL, "FROM python")
    (tmp_path / "Containerfile").write_text(text)
    name = "memoryhub-of-the-documents"
    subprocess.run([engine, "build", "-t", name, "-f", tmp_path / "Containerfile", TREE], check=True, timeout=500)
    settings = ["-e", "MEMORYHUB_BEHIND_TLS=false"]
    started = [engine, "run", "--rm", "--init", "--name", name, *settings, name, "memoryhub", "up", "--port", "8000"]
    with subprocess.Popen(started, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and any("memoryhub ready:" in line for line in process.stdout)
        finally:
            subprocess.run([engine, "stop", name], check=False, timeout=60)


def runs(engine: str) -> bool:
    return subprocess.run([engine, "info"], capture_output=True, check=False, timeout=20).returncode == 0
