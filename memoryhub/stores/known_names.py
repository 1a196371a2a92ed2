"""Names of files and folders that mean something: memory of agents, documents, and what is no memory at all.

Everything that asks "is this memory?" asks these lists. Names are compared as `plain` gives them, unless said otherwise.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from functools import lru_cache

from memoryhub.text.path_patterns import matches


@lru_cache(maxsize=16384)
def plain(name: str) -> str:
    """A name as forgiving file systems read it: without case, without look-alikes, without dots and blanks at its end."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).rstrip(". \t\u3000")


def any_of(*patterns: str) -> re.Pattern[str]:
    """One expression for names that fit one of these patterns, which are ours: `*` stands for any characters."""
    return re.compile("|".join(fnmatch.translate(one) for one in patterns))


def words(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())


# Memory that lies in hidden files and folders. An entry with a slash at its end is a folder with all documents below it.
# Compared letter by letter, since the agents that read them do so.
HIDDEN_MEMORY = (
    ".agents/", ".aider.conventions.md", ".amazonq/rules/", ".augment/rules/", ".augment-guidelines", ".claude/", ".cline/rules/",
    ".clinerules", ".clinerules/", ".codeium/windsurf/memories/", ".codex/AGENTS.md", ".codex/AGENTS.override.md",
    ".codex/memories/", ".config/opencode/AGENTS.md", ".continue/rules/", ".copilot/copilot-instructions.md",
    ".copilot/instructions/", ".cursor/rules/", ".cursorrules", ".deepagents/", ".factory/rules/", ".gemini/",
    ".github/agents/", ".github/copilot-instructions.md", ".github/instructions/", ".github/prompts/", ".goosehints",
    ".hermes.md", ".hermes/SOUL.md", ".hermes/memories/", ".junie/guidelines.md", ".junie/AGENTS.md", ".kiro/steering/",
    ".letta/agents/", ".openclaw/workspace/", ".opencode/", ".openhands/microagents/", ".qwen/", ".roo/rules*/", ".roorules",
    ".rules", ".serena/memories/", ".trae/rules/", ".windsurf/rules/", ".windsurfrules",
)  # fmt: skip

DOCUMENT_ENDINGS = words("""
    adoc asciidoc markdown md mdc mdown mdx org qmd rst textile txt
""")
DOCUMENT_NAMES = words("""
    authors changelog changes code_of_conduct contributing contributors copying credits faq history licence license
    maintainers news notice readme security support .augment-guidelines .clinerules .cursorrules .goosehints .roorules
    .rules .windsurfrules
""")


def ending(name: str) -> str:
    """What follows the last dot of a plain name; empty for a name without one, or with one at its beginning alone."""
    stem, dot, end = name.rpartition(".")
    return end if dot and stem else ""


def is_document_name(name: str) -> bool:
    """Whether a file of this name is read, not run: prose by its ending, or one of the names that projects give to prose."""
    name = plain(name)
    return ending(name) in DOCUMENT_ENDINGS or name in DOCUMENT_NAMES


_KNOWN: dict[str, list[tuple[tuple[str, ...], bool]]] = {}
for _entry in HIDDEN_MEMORY:
    _parts = tuple(_entry.rstrip("/").split("/"))
    _KNOWN.setdefault(_parts[0], []).append((_parts, _entry.endswith("/")))


def is_hidden_memory(parts: tuple[str, ...], *, is_folder: bool = False) -> bool:
    """Whether names that begin with a hidden one lead to known memory: to a document of it, or to a folder on the way there."""
    return any(
        _leads(known, below, parts, is_folder=is_folder)
        for known, below in _KNOWN.get(parts[0], ())
        if all(matches(one, name) for one, name in zip(known, parts, strict=False))
    )


def _leads(known: tuple[str, ...], below: bool, parts: tuple[str, ...], *, is_folder: bool) -> bool:
    if is_folder:
        return len(parts) < len(known) or below
    if below:
        return len(parts) > len(known) and is_document_name(parts[-1])
    return len(parts) == len(known)


# ---- what a mount of a directory leaves out, by plain name

VERSION_CONTROL = words("""
    .git .hg .svn .bzr .jj .sl .pijul .fslckout _darcs cvs git~1 .gitmodules .gitattributes .hgignore
""")
SECRET_FOLDERS = words("""
    .ssh .gnupg .gpg .aws .azure .kube .docker .password-store .gcloud
""")
SECRET_FILES = any_of(
    ".env", ".env.*", "*.env", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".git-credentials", ".npmrc", ".pypirc",
    ".credentials*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.tfstate", "*.tfstate.*",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk",
)  # fmt: skip
DEPENDENCIES = words("""
    node_modules bower_components jspm_packages site-packages __pypackages__ venv virtualenv pods carthage elm-stuff .venv
    .yarn .pnpm-store .bundle .cargo .rustup .npm .tox .nox .eggs .direnv .gradle .m2
""")
BUILDS = words("""
    build dist target _build deriveddata htmlcov .next .nuxt .output .svelte-kit .angular .docusaurus
""")
BUILD_PATTERNS = any_of("cmake-build-*", "*.egg-info", "*.dist-info", "bazel-*")
CACHES = words("""
    __pycache__ .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .turbo .parcel-cache .sass-cache .ipynb_checkpoints
    thumbs.db desktop.ini .ds_store
""")
# In a project these are dependencies, builds and caches; in a folder made for memory they may be anything.
OF_PROJECTS = words("""
    bin cache coverage deps env obj out tmp vendor third_party
""")

PROJECT_MARKERS = words("""
    .git .hg .svn .jj pyproject.toml setup.py setup.cfg requirements.txt pipfile package.json deno.json deno.jsonc
    cargo.toml go.mod pom.xml build.gradle build.gradle.kts settings.gradle gemfile composer.json mix.exs pubspec.yaml
    package.swift cmakelists.txt makefile gnumakefile meson.build configure.ac build.sbt project.clj deps.edn stack.yaml
    dune-project rebar.config shard.yml workspace module.bazel flake.nix dockerfile tsconfig.json
""")
PROJECT_PATTERNS = any_of("*.sln", "*.csproj", "*.cabal", "*.xcodeproj", "*.gemspec", "*.nimble")


def is_project(names: list[str]) -> bool:
    """Whether a folder with these names is a project, so that what it holds is not all memory."""
    found = {plain(name) for name in names}
    return not found.isdisjoint(PROJECT_MARKERS) or any(map(PROJECT_PATTERNS.match, found))
