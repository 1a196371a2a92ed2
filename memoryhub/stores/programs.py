"""What is no memory and never written by an agent: programs, hooks, start files, and whatever else a tool would run (pure).

A name is judged as a forgiving file system would read it, a content by its first bytes. The reasons of a path are a set: a rule
names a path where its pattern, read as a path, has all of them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memoryhub.stores.known_names import DOCUMENT_ENDINGS, any_of, ending, is_hidden_memory, plain, words
from memoryhub.text.path_patterns import alternatives, matches

PROGRAM, HOOK, TOOL, START, HIDDEN, CONTENT = "program", "hook", "tool", "start", "hidden", "content"
SAYS = {
    PROGRAM: "it is a program or a script",
    HOOK: "it is a hook, which a tool runs by itself",
    TOOL: "a tool reads it to know what to run",
    START: "a program reads it when it starts",
    HIDDEN: "it is hidden, and no known memory of agents",
    CONTENT: "its text begins like a program",
}

PROGRAM_ENDINGS = words("""
    action ahk apk app applescript appx awk bash bat bz2 bzl c cabal cbl cc cgi cjs class clj cljs cljc cmake cmd cob coffee
    com command cpl cpp cr crx cs csh csproj cts cxx d dart deb desktop dex dll dmg docm dotm dylib ear ebuild egg el elc
    elf elm erl ex exe exs f90 fish fs fsproj fsx gadget gem go gradle groovy hcl hh hpp hrl hs hta hxx inf ipa ipynb iso
    jar java jl js jse jsx kext ko ksh kt kts lha lisp lnk lua m4 make mak mjs mk ml mm mod msc msi msix msp mts nim ninja
    nix node nse nupkg ocx pas pdb php phar phtml pif pkg pl plx pm pp ppam pptm props ps1 psc1 psd1 psm1 pth pwn py pyc pyd
    pyi pyo pyw pyx pyz r rake rb rbw reg rego rkt rpm rs run sbt scala scm scpt scr sct sed service sh shb shs slice sln
    snap so socket sol star sublime-project sublime-build swift sys targets tcl tcsh terminal tf tfvars timer ts tsx vb vbe
    vbs vbproj vcxproj vhd vim vsix war wasm webloc whl workflow ws wsc wsf wsh xbap xla xlam xll xlsm xltm xpi zig zsh
    zsh-theme code-workspace plist automount h url
""")
HOOK_NAMES = words("""
    applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge
    post-receive post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase
    pre-receive prepare-commit-msg proc-receive push-to-checkout reference-transaction sendemail-validate lefthook.yml
    lefthook.yaml lefthook.toml hooks.json hooks.toml hooks.yaml hooks.yml
""")
HOOK_FOLDERS = words("""
    hooks .husky .githooks git-hooks _hooks
""")  # a folder `hooks` may hold prose about hooks
TOOL_NAMES = words("""
    aclocal.m4 app.yaml app.yml appfile appspec.yml appveyor.yml azure-pipelines.yaml azure-pipelines.yml
    bitbucket-pipelines.yml biome.json bower.json brewfile build.bazel build.xml buildspec.yaml buildspec.yml bun.lock
    bunfig.toml capfile cargo.lock cargo.toml cartfile claude_desktop_config.json cloudbuild.yaml cloudbuild.yml
    cmakelists.txt cmakepresets.json codemagic.yaml composer.json composer.lock compose.yaml compose.yml conda.yaml
    conda.yml config.ru configure configure.ac configure.in constraints.txt containerfile dangerfile deno.json deno.jsonc
    deno.lock deps.edn devbox.json devcontainer.json docker-bake.hcl docker-bake.json docker-compose.yaml docker-compose.yml
    dockerfile dune dune-project earthfile environment.yaml environment.yml fastfile firebase.json flake.lock fly.toml
    gemfile gemfile.lock gemini-extension.json gnumakefile go.mod go.sum go.work guardfile gulpfile helmfile.yaml
    import_map.json jenkinsfile justfile kustomization.yaml lerna.json makefile makefile.am makefile.in mcp.json
    mcp_config.json meson.build meson_options.txt mkdocs.yaml mkdocs.yml mypy.ini netlify.toml nodemon.json
    npm-shrinkwrap.json nx.json opencode.json opencode.jsonc package-lock.json package.json package.swift package.yaml
    pdm.lock pipfile pipfile.lock pnpm-lock.yaml pnpm-workspace.yaml podfile podfile.lock poetry.lock pom.xml procfile
    project.clj pubspec.lock pubspec.yaml pyproject.toml pytest.ini pyvenv.cfg rakefile rebar.config render.yaml
    requirements.txt rush.json sconscript sconstruct serverless.yaml serverless.yml settings.gradle setup.cfg shard.yml
    skaffold.yaml snakefile stack.yaml supervisord.conf taskfile.yaml taskfile.yml tasks.json thorfile tiltfile tox.ini
    tsconfig.json turbo.json uv.lock uv.toml vagrantfile vercel.json wercker.yml workspace.bazel wrangler.json
    wrangler.jsonc wrangler.toml wscript yarn.lock launch.json angular.json nest-cli.json cdk.json samconfig.toml
    alembic.ini ruff.toml noxfile dodo gruntfile mise.toml devenv.yaml procfile.dev crontab fabfile
    ansible.cfg bun.lockb caddyfile chart.yaml nginx.conf nuget.config pip.conf pip.ini renovate.json workspace
""")
PROSE = DOCUMENT_ENDINGS - {"txt"}  # tools read some texts, such as requirements.txt
TOOL_PATTERNS = any_of(
    "requirements*.txt", "*requirements.txt", "constraints*.txt", "makefile.*", "dockerfile.*", "*.dockerfile", "containerfile.*",
    "jenkinsfile.*", "docker-compose*.yml", "docker-compose*.yaml", "compose.*.yml", "compose.*.yaml", "tsconfig*.json",
    "package*.json", "*.config.json", "*.config.toml", "*.config.yaml", "*.config.yml", "*.mcp.json", "mcp*.json",
)  # fmt: skip
START_NAMES = words("""
    _netrc _vimrc _gvimrc _viminfo authorized_keys authorized_keys2 bash_profile bash_login bash_logout bashrc cshrc
    known_hosts gitconfig gvimrc inputrc inputrc.local ld.so.preload npmrc rc.local screenrc ssh_config sudoers tmux.conf
    vimrc wgetrc curlrc xinitrc xprofile xsession zlogin zlogout zprofile zshenv zshrc autoexec.ini init.el autorun.inf
    desktop.ini kdeglobals crontab anacrontab
""")
# Memory's own folders hold what a tool runs as well: commands that call a shell, settings with hooks.
RUN_FOLDERS = frozenset(["commands", "plugins", "extensions", "workflows", "actions"])

_PROGRAM_BYTES = re.compile(
    rb"\A(?:\xef\xbb\xbf)?#!\s*/|\A\x7fELF|\AMZ[\x00-\xff]{58}|\A[\xce\xcf]\xfa\xed\xfe|\A\xca\xfe\xba\xbe"
)
_RUNS = re.compile(rb"""["']?(?:hooks|mcpServers|mcp_servers)["']?[ \t]*:""")
MAX_FRONT_MATTER = 16384


@lru_cache(maxsize=16384)
def reasons(path: str) -> frozenset[str]:
    """Why a path is no memory: none for memory and plain data."""
    parts = tuple(part for part in path.removeprefix("~").removeprefix(".").split("/") if part)
    return frozenset().union(*(_name_reasons(parts, at) for at in range(len(parts)))) if parts else frozenset()


def _name_reasons(parts: tuple[str, ...], at: int) -> set[str]:
    name, is_last = plain(parts[at]), at == len(parts) - 1
    found = set()
    if (name in HOOK_FOLDERS and not _is_about_hooks(parts, at)) or (is_last and name in HOOK_NAMES):
        found.add(HOOK)
    if _is_hidden(parts[at]) and not is_hidden_memory(parts[at:]):
        found.add(HIDDEN)
    if not is_last:
        below_memory = at > 0 and _is_hidden(parts[at - 1])
        return found | ({TOOL} if below_memory and name in RUN_FOLDERS else set()) | ({PROGRAM} & _bundle(name))
    end = ending(name)
    if end in PROGRAM_ENDINGS or (not end and name.removeprefix(".") in PROGRAM_ENDINGS and _is_hidden(name)):
        found.add(PROGRAM)
    if name in TOOL_NAMES or (end not in PROSE and TOOL_PATTERNS.match(name)):
        found.add(TOOL)
    if name in START_NAMES:
        found.add(START)
    return found


def _is_about_hooks(parts: tuple[str, ...], at: int) -> bool:
    """Whether `hooks` is a folder of prose, outside of hidden folders."""
    return plain(parts[at]) == "hooks" and not any(map(_is_hidden, parts[:at])) and is_prose(parts[-1])


def _bundle(name: str) -> set[str]:
    """Folders that are programs."""
    return {PROGRAM} if ending(name) in ("app", "bundle", "workflow", "kext", "plugin", "xcodeproj") else set()


def _is_hidden(name: str) -> bool:
    return plain(name).startswith(".") or name.startswith(".")


def text_reasons(path: str, content: bytes | None) -> frozenset[str]:
    """Why a content is no memory: it begins like a program, or its front matter names hooks in a folder of agents."""
    if content is None:
        return frozenset()
    if _PROGRAM_BYTES.match(content[:512]):
        return frozenset({CONTENT})
    if any(_is_hidden(part) for part in path.split("/")) and any(map(_RUNS.match, _front_matter(content))):
        return frozenset({HOOK})
    return frozenset()


def _front_matter(content: bytes) -> list[bytes]:
    """The lines of the front matter of a Markdown file."""
    lines = content[:MAX_FRONT_MATTER].removeprefix(b"\xef\xbb\xbf").splitlines()
    if not lines or lines[0].rstrip() != b"---":
        return []
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() in (b"---", b"...")), len(lines))
    return lines[1:end]


def is_named_by(pattern: str, path: str, why: frozenset[str]) -> bool:
    """Whether the pattern of a rule names a path that is no memory: it matches, and says so as clearly as the path does.

    `**` names nothing; `scripts/*.sh` names scripts, `.github/workflows/**` names workflows.
    """
    return any(matches(one, path) and why <= _said_by(one) for one in alternatives(pattern))


def _said_by(pattern: str) -> frozenset[str]:
    last = pattern.rpartition("/")[2]
    found = reasons(re.sub(r"/\*\*(?=/|$)", "", pattern).replace("?", "x")) | reasons(pattern.replace("?", "x"))
    return found | {CONTENT} if re.search(r"\w", last) else found


def is_prose(path: str) -> bool:
    """Whether the ending of a path says prose: the mode of such a file says nothing."""
    return ending(plain(path.rpartition("/")[2])) in DOCUMENT_ENDINGS
