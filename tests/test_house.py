"""The house keeps its plan: who may import whom, one name all the way, nothing from elsewhere, nothing left behind."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import call_command
from django.template import Library
from django.urls import URLPattern, URLResolver, get_resolver

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "memoryhub"
ARCHITECTURE = ROOT / "docs/develop/architecture.md"
DRAWING = ROOT / "docs/img/architecture.svg"

# Inner rooms first. A room imports its own and inner ones, never outer ones, nor its neighbours on the same floor.
FLOORS = [
    {"errors"},
    {"text"},
    {"encryption", "requests", "refusals", "languages", "dialects", "detectors", "embedders", "stores"},
    {"db"},
    {"models"},
    {"domain"},
    {"forms"},
    {"web", "api", "management"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in sorted(rooms)}
# What starts, joins and serves the rooms. Rooms from this floor on may import these few.
OPEN_TO = {"server": 7, "middleware": 7, "settings": 8, "templatetags": 7}
PLAIN = ("errors", "text", "dialects", "detectors", "embedders", "stores")


def modules(room: str) -> list[Path]:
    return [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").exists() else sorted((PACKAGE / room).rglob("*.py"))


@cache
def imports(file: Path) -> list[str]:
    """Every module that a file imports, also inside functions, by its full name."""
    return list(_imports(file))


def _imports(file: Path) -> Iterator[str]:
    here = (".".join(file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    package = here if file.name == "__init__.py" else here.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_used(file: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(file) if name.startswith("memoryhub.")}


@pytest.mark.parametrize("room", FLOOR)
def test_imports_point_inward(room):
    for file in modules(room):
        for used in rooms_used(file) - {room}:
            reach = OPEN_TO.get(used, FLOOR.get(used, 9) + 1)
            allowed = reach <= FLOOR[room] or (used == "requests" and FLOOR[room] >= 2)
            standalone = used == "client" and file.parent.name == "commands" and file.stem in ("mcp", "sync")
            assert allowed or standalone, f"{file.relative_to(ROOT)} imports {used}"


@pytest.mark.parametrize("room", PLAIN)
def test_plain_rooms_know_no_framework(room):
    for file in modules(room):
        foreign = {name.split(".")[0] for name in imports(file)} & {"django", "ninja", "psycopg", "django_htmx"}
        assert not foreign, f"{file.relative_to(ROOT)} imports {foreign}"


def test_only_two_rooms_know_psycopg():
    for file in PACKAGE.rglob("*.py"):
        uses = any(name.split(".")[0] == "psycopg" for name in imports(file))
        assert not uses or file.relative_to(PACKAGE).parts[0] in ("db", "server"), f"{file.relative_to(ROOT)}"


def test_the_client_stands_alone():
    for file in modules("client"):
        for name in imports(file):
            assert not name.startswith(("django", "ninja", "psycopg")), f"{file.relative_to(ROOT)} imports {name}"
            inside = name.startswith(("memoryhub.client", "memoryhub.__version__"))
            assert inside or not name.startswith("memoryhub."), f"{file.relative_to(ROOT)} imports {name}"
    for file in PACKAGE.rglob("*.py"):
        if "client" not in file.parts and file.stem not in ("mcp", "sync"):
            assert "client" not in rooms_used(file), f"{file.relative_to(ROOT)} imports the client"


MAX_IMPORTS_INSIDE = 10


def test_few_imports_stand_inside_functions():
    """Each with a comment above it that gives the reason: time or memory that most processes spare, or Django's set-up."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        lines = file.read_text().splitlines()
        for function in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and "migrations" not in file.parts:
                nodes = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
                found += [(file.relative_to(ROOT), lines[node.lineno - 2].strip()) for node in nodes]
    assert len(found) <= MAX_IMPORTS_INSIDE, found
    assert all(above.startswith("# Inside: ") for _, above in found), found


# ---- inside the domain ----

# Lower packages first: a package imports those before it. What it must tell a later one goes through `spaces.events`.
PACKAGES = (
    "activity", "accounts", "spaces", "jobs", "nodes", "quotas", "notify", "files", "working", "retrieval", "quarantine", "longterm",
    "prompts",
    "proposals", "erasure", "exchange", "coding_agents", "contexts",
    "write_hooks", "demo",
)  # fmt: skip


def domain_imports(file: Path) -> Iterator[list[str]]:
    """The parts behind `memoryhub.domain` of what a file imports: package, then module or verb."""
    for name in imports(file):
        if name.startswith("memoryhub.domain."):
            yield name.split(".")[2:]


def test_packages_of_the_domain_are_used_by_their_verbs():
    for file in PACKAGE.rglob("*.py"):
        mine = file.relative_to(PACKAGE).parts[1:2] if "domain" in file.parts else ()
        for package, *rest in domain_imports(file):
            inside = PACKAGE / "domain" / package / (rest[0] if rest else "")
            inner = rest and (inside.is_dir() or inside.with_suffix(".py").exists())
            shadowed = inner and len(rest) == 1 and rest[0] in verbs_of(package)  # the verb, not the module
            assert not inner or shadowed or mine == (package,), f"{file.relative_to(ROOT)} imports {package}.{rest[0]}"


def verbs_of(package: str) -> set[str]:
    """What a package exports: all that its `__init__` imports."""
    tree = ast.parse((PACKAGE / "domain" / package / "__init__.py").read_text())
    return {name.asname or name.name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}


def test_packages_of_the_domain_export_only_what_is_used():
    inits = {PACKAGE / "domain" / package / "__init__.py" for package in PACKAGES}
    used: set[tuple[str, ...]] = set()
    for file in [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")]:
        used |= set(re.findall(r"(\w+)\.(\w+)", file.read_text()))
        used |= {tuple(names) for names in domain_imports(file) if file not in inits}
    unused = {f"{package}.{name}" for package in PACKAGES for name in verbs_of(package) if (package, name) not in used}
    assert not unused, f"nobody uses {sorted(unused)}"


def test_packages_of_the_domain_import_downward():
    for file in (PACKAGE / "domain").glob("*/**/*.py"):
        mine = PACKAGES.index(file.relative_to(PACKAGE).parts[1])
        for package, *_ in domain_imports(file):
            assert PACKAGES.index(package) <= mine, f"{file.relative_to(ROOT)} imports {package}"


def test_a_package_of_the_domain_stays_small():
    assert sorted(entry.name for entry in (PACKAGE / "domain").glob("*.py")) == ["__init__.py", "first_start.py"]
    for folder in {file.parent for package in PACKAGES for file in (PACKAGE / "domain" / package).rglob("*.py")}:
        modules = [file for file in folder.glob("*.py") if file.name != "__init__.py"]
        assert len(modules) <= 14, f"{folder.relative_to(PACKAGE)} has {len(modules)} modules"


LINES_OF_A_MODULE = 350


def test_a_module_stays_small():
    for file in PACKAGE.rglob("*.py"):
        lines = file.read_text().count("\n")
        assert lines <= LINES_OF_A_MODULE or "migrations" in file.parts, f"{file.relative_to(ROOT)} has {lines} lines"


def test_template_tags_import_nothing_from_pages():
    for file in modules("templatetags"):
        assert not rooms_used(file) & {"web", "api", "management", "forms"}, f"{file.relative_to(ROOT)}"


@cache
def tag_libraries() -> dict[str, Library]:
    named = {file.stem: f"memoryhub.templatetags.{file.stem}" for file in modules("templatetags")}
    return {stem: importlib.import_module(name).register for stem, name in named.items() if stem != "__init__"}


def test_no_two_tag_libraries_give_a_name():
    """Of two filters, or two tags, of one name a template gets that of the library it loads last."""
    homes: dict[tuple[str, str], str] = {}
    for stem, library in tag_libraries().items():
        for kind, names in (("filter", library.filters), ("tag", library.tags)):
            for name in names:
                home = homes.setdefault((kind, name), stem)
                assert home == stem, f"the {kind} {name} is in {home} and in {stem}"


def test_templates_load_only_what_is_there_and_used():
    django_s = {"l10n", "tz"}
    for file in TEMPLATES:
        text = file.read_text()
        for stem in " ".join(re.findall(r"{% load ([^%]+) %}", text)).split():
            assert stem in tag_libraries() or stem in django_s, f"{file.relative_to(ROOT)} loads {stem}"
            if library := tag_libraries().get(stem):
                used = "|".join({*library.tags, *library.filters})
                assert re.search(rf"({{% |\|)({used})\b", text), f"{file.relative_to(ROOT)} loads {stem} for nothing"


# ---- one name all the way ----


def addresses(resolver: URLResolver | None = None) -> Iterator[URLPattern]:
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            if entry.namespace != "api":
                yield from addresses(entry)
        elif entry.callback.__module__.startswith("memoryhub.web"):
            yield entry


def posts_only(view: object) -> bool:
    """Whether a view only takes POST: then it changes something."""
    while view is not None:
        if getattr(view, "methods", None) == ("POST",):
            return True
        variables = inspect.getclosurevars(view).nonlocals if inspect.isfunction(view) else {}
        if list(variables.get("request_method_list", ())) == ["POST"] or variables.get("methods") == ("POST",):
            return True
        view = getattr(view, "__wrapped__", None)
    return False


# Places of their own in the interface, whose verbs belong to another noun of the product.
VERBS = {
    "account.change_email": "accounts.change_email",
    "account.change_password": "accounts.change_password",
    "account.create_token": "accounts.create_token",
    "account.end_session": "accounts.end_session",
    "account.end_sessions": "accounts.end_sessions",
    "account.language": "accounts.set_language",
    "account.open_next": "accounts.set_preference",
    "account.revoke_token": "accounts.revoke_token",
    "account.theme": "accounts.set_preference",
    "agents.change": "prompts.change_agent",
    "agents.delete": "prompts.delete_agent",
    "agents.set_auto": "prompts.change_agent",
    "disk.allow": "files.allow_on_disk",
    "disk.change_on_disk": "files.change_on_disk",
    "disk.forbid": "files.forbid",
    "disk.hold_again": "files.hold_again",
    "disk.look_again": "files.look_again",
    "disk.mark_seen": "files.mark_seen",
    "disk.put_back": "files.put_back",
    "disk.take_back": "files.take_back",
    "files.pack": "files.pack_folder",
    "editor.check": "proposals.check_file_draft",
    "editor.note_editing": "files.note_editing",
    "disk.retry": "files.retry_disk",
    "files.upload": "files.write",
    "imports.preview": "exchange.preview_import",
    "imports.start": "exchange.start_import",
    "gate.change": "quarantine.change_gate",
    "gate.dry_run": "quarantine.dry_run_gate",
    "judge.configure": "quarantine.configure_judge",
    "login.leave": "",
    "mounts.add": "files.add_mount",
    "mounts.change": "files.change_mount",
    "mounts.remove": "files.remove_mount",
    "oidc.disconnect": "accounts.disconnect_identity",
    "people.add": "spaces.add_member",
    "people.change_role": "spaces.change_role",
    "people.deactivate": "spaces.deactivate_person",
    "people.reactivate": "spaces.reactivate_person",
    "people.make_link": "accounts.make_sign_in_link",
    "people.remove": "spaces.remove_member",
    "proposals.set_preference": "accounts.set_preference",
    "policies.add_rule": "files.add_rule",
    "policies.remove_rule": "files.remove_rule",
    "promotions.promote": "longterm.promote",
    "quotas.change": "spaces.change_settings",
    "templates.change": "prompts.change_settings",
    "templates.download": "prompts.start_download",
    "reembedding.drop": "longterm.drop_vectors",
    "reembedding.prepare": "longterm.prepare_reembedding",
    "reembedding.start": "longterm.start_reembedding",
    "reembedding.switch_back": "longterm.switch_embedder_back",
    "retrieval_checks.forget": "retrieval.forget_check",
    "retrieval_checks.run": "retrieval.run_checks",
    "retrieval_checks.save": "retrieval.save_check",
    "retrieval_settings.change": "retrieval.change_limits",
    "retrieval_settings.change_chunks": "longterm.change_chunks",
    "second_factor.add_passkey": "accounts.add_passkey",
    "second_factor.new_recovery_codes": "accounts.new_recovery_codes",
    "second_factor.remove_passkey": "accounts.remove_passkey",
    "second_factor.remove_totp": "accounts.remove_totp",
    "nodes.forget": "nodes.forget_node",
    "nodes.put_in_charge": "files.put_in_charge",
    "policies.change_rule": "files.change_rule",
    "policies.reorder_rule": "files.reorder_rule",
    "policies.try_rule": "files.dry_run_rule",
    "fixes.apply": "contexts.apply_plan",
    "laptop.show": "contexts.show_chosen",
    "moves.apply": "contexts.apply_plan",
    "moves.undo": "contexts.undo_plan",
    "sources.add": "prompts.add_source",
    "sources.choose": "prompts.choose_sources",
    "sources.remove": "prompts.remove_source",
    "sources.reorder": "prompts.reorder_source",
    "sources.switch": "prompts.switch_source",
    "sources.take_over": "prompts.take_over_configuration",
    "spaces.load_demo": "demo.make",
    "templates.import_installed": "prompts.import_installed_template",
    "templates.import_wheel": "prompts.import_template_wheel",
    "tokens.create": "accounts.create_token",
    "tokens.revoke": "accounts.revoke_token",
    "tokens.rotate": "accounts.rotate_token",
    "webhooks.add": "notify.add_webhook",
    "webhooks.ping": "notify.ping_webhook",
    "webhooks.remove": "notify.remove_webhook",
    "webhooks.send_again": "notify.send_notice_again",
    "webhooks.set_digest": "notify.set_mail_hour",
    "webhooks.switch": "notify.switch_webhook",
}


def test_an_address_is_named_like_its_view():
    for entry in addresses():
        view = inspect.unwrap(entry.callback)
        noun = view.__module__.removeprefix("memoryhub.web.")
        assert str(entry.name).startswith(f"{noun}."), f"{entry.pattern} is {entry.name}"
        if posts_only(entry.callback):
            assert entry.name == f"{noun}.{view.__name__}", f"{entry.pattern} is {entry.name}"


def test_what_changes_something_is_named_like_its_domain_verb():
    changing = {entry.name for entry in addresses() if posts_only(entry.callback)}
    assert changing, "no view takes POST alone: this test looks at nothing"
    assert VERBS.keys() <= changing, f"gone from the addresses: {VERBS.keys() - changing}"
    for name in changing:
        noun, _, verb = VERBS.get(name, name).partition(".")
        if verb:
            home = importlib.import_module(f"memoryhub.domain.{noun}")
            view = importlib.import_module(f"memoryhub.web.{name.partition('.')[0]}")
            assert inspect.isfunction(getattr(home, verb, None)), f"{name} has no domain.{noun}.{verb}"
            assert f"{noun}.{verb}(" in inspect.getsource(view), f"{name} does not call {noun}.{verb}"


def test_templates_live_in_the_folder_of_their_noun():
    for file in modules("web"):
        for name in re.findall(r'["\']([a-z_]+)/_?[a-z_]+\.html["\']', file.read_text()):
            assert name in {file.stem, "errors"}, f"{file.relative_to(ROOT)} renders a template of {name}/"


def test_every_domain_verb_says_what_it_does():
    """Each public function that changes something says in a sentence what it does."""
    for file in modules("domain"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                atomic = any("atomic" in ast.unparse(decorator) for decorator in node.decorator_list)
                if atomic:
                    assert ast.get_docstring(node), f"domain.{file.stem}.{node.name} has no docstring"


def test_the_map_of_the_domain_names_every_package_in_order():
    import memoryhub.domain

    named = re.findall(r"^([a-z_]+) {2,}", inspect.getdoc(memoryhub.domain) or "", re.M)
    assert tuple(named) == PACKAGES


def test_the_drawing_and_the_table_of_packages_have_the_same_order():
    """The drawing has the highest row first and, within a row, what may be imported on the left."""
    boxes = re.findall(
        r'class="pkg" x="([\d.]+)" y="([\d.]+)".*\n<text[^>]*><tspan class="b">([a-z_]+)<', DRAWING.read_text()
    )
    drawn = sorted(boxes, key=lambda box: (-float(box[1]), float(box[0])))
    assert [name for _, _, name in drawn] == list(PACKAGES)
    rows = re.findall(r"^\| `([a-z_]+)/` \|", ARCHITECTURE.read_text().partition("lowest first")[2], re.M)
    assert rows == list(PACKAGES)


# ---- nothing from elsewhere, nothing inline ----

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
ASSETS = sorted(file for file in (ROOT / "static").rglob("*") if file.suffix in (".css", ".js", ".svg", ".html"))
FORBIDDEN = {
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)", re.I),
    "json_script": re.compile(r"\|\s*json_script"),
    "an inline style": re.compile(r"<style|\sstyle\s*=", re.I),
    "an event attribute": re.compile(r"<[a-z][^>]*\son[a-z]+\s*=", re.I),
    "a javascript: address": re.compile(r"javascript:", re.I),
    "a meta refresh": re.compile(r"http-equiv=.?refresh", re.I),
    "hx-on": re.compile(r"\shx-on[:\-=]"),
    "evaluated htmx": re.compile(r"hx-(vals|headers)=.(js|javascript):|hx-trigger=\"[^\"]*\["),
    "something of another host": re.compile(
        r"<(?!a\s)[a-z][^>]*\s(src|href|action|srcset|data|poster|hx-[a-z]+)=[\"'](https?:)?//", re.I
    ),
}


@pytest.mark.parametrize("fault", FORBIDDEN)
def test_no_template_holds(fault):
    assert TEMPLATES
    for file in TEMPLATES:
        found = FORBIDDEN[fault].search(file.read_text())
        assert not found, f"{file.relative_to(ROOT)} holds {fault}: {found[0][:80] if found else ''}"


LONGEST_LINE = 160
# A line end is a space to browsers; `{% if %}` and its like draw nothing, so what follows them stands after that space.
STRAY_SPACE = re.compile(r"\n\s*(?:\{%\s*(?:if|elif|else|endif|for|endfor|with|endwith)\b[^%]*%\}\s*)*[,.;:)!?]")


def test_templates_can_be_reviewed():
    for file in TEMPLATES:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            assert len(line) <= LONGEST_LINE, f"{file.relative_to(ROOT)}:{number} has {len(line)} characters"


def test_no_text_of_a_template_needs_its_indentation():
    """Templates are loaded without it."""
    for file in TEMPLATES:
        for text in re.findall(r"<(?:pre|textarea)\b[^>]*>(.*?)</(?:pre|textarea)>", file.read_text(), re.DOTALL):
            assert not re.search(r"\n[ \t]", text), f"{file.relative_to(ROOT)}: {text[:60]}"


def test_no_template_puts_a_space_before_punctuation():
    for file in TEMPLATES:
        found = STRAY_SPACE.search(file.read_text())
        assert not found, f"{file.relative_to(ROOT)}: {found[0] if found else ''}"


def test_every_glyph_that_is_drawn_exists():
    sprites = [(ROOT / f"templates/{name}.html").read_text() for name in ("_glyphs", "_more_glyphs")]
    drawn = [piece for sprite in sprites for piece in sprite.split('<symbol id="')[1:]]
    glyphs = {piece.partition('"')[0] for piece in drawn}
    for file in TEMPLATES:
        used = set(re.findall(r'<use href="#([a-z0-9-]+)"', file.read_text()))
        used |= {f"g-{name}" for name in re.findall(r'{% (?:g|glyph_at) "([a-z-]+)"', file.read_text())}
        assert used <= glyphs, f"{file.relative_to(ROOT)} draws {used - glyphs}"


def test_no_code_writes_style_attributes():
    for file in PACKAGE.rglob("*.py"):
        if "detectors" not in file.parts:
            assert not re.search(r"<[a-z]+[^>\n]*\sstyle=", file.read_text()), f"{file.relative_to(ROOT)}"


def test_styles_and_scripts_name_no_host():
    assert ASSETS
    for file in ASSETS:
        text = file.read_text().replace("http://www.w3.org/", "")
        found = re.search(r"https?://|url\(\s*[\"']?//|@import", text)
        assert not found, f"{file.relative_to(ROOT)} names another host"


def test_scripts_of_pages_evaluate_nothing():
    for file in (ROOT / "static/js").glob("*.js"):
        found = re.search(
            r"\beval\(|new Function\(|\.innerHTML\s*=|document\.write\(|\.style\.|setAttribute\(.style",
            file.read_text(),
        )
        assert not found, f"{file.relative_to(ROOT)}: {found[0] if found else ''}"


# ---- nothing left behind ----


def tracked() -> list[Path]:
    """The files of the tree; without git, whatever lies in its folders."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
        return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    folders = ("memoryhub", "templates", "static", "tests")
    return [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]


@pytest.mark.django_db
def test_migrations_are_complete():
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-test.lock"])
def test_lock_files_pin_by_hash_and_name_no_registry(lock):
    text = (ROOT / lock).read_text()
    assert not re.search(r"https?:|index-url|--find-links|--trusted-host|@\s*file:", text)
    pinned = re.findall(r"^([a-z0-9._-]+(?:\[[^\]]+\])?)(\S*)", text, re.M)
    assert pinned and all(version.startswith("==") for _, version in pinned)
    assert text.count("--hash=sha256:") >= len(pinned)


def test_no_file_names_this_machine():
    places = {str(place) for place in (ROOT, Path(sys.prefix), ROOT.parent) if len(place.parts) > 2}
    for file in tracked():
        content = file.read_bytes()
        for place in places:
            assert f"{place}/".encode() not in content, f"{file.relative_to(ROOT)} names {place}"


def test_no_file_says_it_is_unfinished():
    # Put together here, so that this file does not say them itself.
    words = [("TO", "DO"), ("FIX", "ME"), ("lorem", " ipsum")]
    marks = re.compile("|".join(first + second for first, second in words))
    for file in tracked():
        if file.suffix in (".py", ".html", ".css", ".js", ".md", ".toml"):
            found = marks.search(file.read_text())
            assert not found, f"{file.relative_to(ROOT)} says {found[0] if found else ''}"
