"""Sentences in Python: what is given to gettext, and the English sentences of the hub that pages translate when they are shown.

Of an f-string every value becomes a placeholder, `There is no person '%(username)s'.`; of "a" if … else "b" both are taken.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import memoryhub
from memoryhub import errors
from tests.messages.prose import like_a_sentence

PACKAGE = Path(memoryhub.__file__).parent
GETTEXT = {"gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
REFUSALS = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.HubError)}
# Arguments that are sentences, or parts of one, by the name of what is called: positions and keywords.
TOLD: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    **dict.fromkeys(REFUSALS, ((0,), ())),
    "record": ((3,), ("adds", "aside")),
    "make_line": ((3,), ("adds", "aside")),
    "add_argument": ((), ("help",)),
    "say": ((0,), ()),
}
# Rooms whose words reach people through pages, or as answers of commands: every literal there that reads like words counts.
SPEAKING = (
    "detectors",
    "dialects",
    "domain",
    "embedders",
    "management",
    "models",
    "server",
    "stores",
    "text",
    "__main__.py",
    "web/oidc.py",
)
# What stands in modules of these rooms and is for agents, or for programs: lists of names, SQL, texts of the demo and of prompts.
SILENT = (
    "domain/write_hooks/", "text/tool_calls.py",
    "detectors/chinese", "detectors/cjk", "detectors/injection/", "detectors/normalise", "detectors/risky_advice/",
    "detectors/secrets/", "dialects/coding/", "dialects/hub.py", "dialects/synaptic.py", "domain/activity/metrics.py", "domain/demo/",
    "domain/exchange/client_wheel.py", "domain/exchange/memory_tool.py", "server/http/", "server/dump.py", "stores/known_names.py",
    "domain/retrieval/in_memory/", "domain/retrieval/views.py", "domain/retrieval/in_database.py", "domain/retrieval/vector_index.py",
)  # fmt: skip
# Tables at the top level of a module whose words are too short to be told by their look.
TABLES = {"QUICK_REASONS", "TITLES", "STATE_WORDS", "STATES", "LINK_TIME_NAMES"}
# Literals of speaking rooms that only look like words for people: of prompts, paths, patterns, other programs.
NOT_SAID = {
    "ignore all", "ignore prev", "previous instruc", "agents with memory", "agent_id IS NOT NULL",
    "// Made by memoryhub hook opencode --install; --uninstall removes it.",
    "to be added", "Bearer %(access_token)s",
    "memoryhub hook", "memoryhub hook: %(name)s: %(error)s", "taken for the sake of its siblings",
    "(Long-term memory was searched by words alone: the embedder is away.)", "(No memory loaded)", ".s.PGSQL.%(port)s.lock",
    "Application Support", "Bearer %(judge_key)s", "Bearer %(key)s", "CR LF", "Could not fetch URL", "LOG:  invalid",
    "LOG:  unrecognized", "Library", "Makefile", "Temporary failure", "before-restore-%(now)s.tar", "box done",
    "context.fileName with {name}", "css/%(group)s.css", "css/parts/%(name)s.css", "hooks .husky .githooks git-hooks _hooks",
    "chmod -R u+rX", "sudo setfacl -R -m u:%(user)s:rX",
    "in for / minute hour day week",
    "is are was were / currently still temporarily down sick vacation holiday leave late away offline meeting",
    "memoryhub check", "memoryhub context", "memoryhub laptop", "noopener nofollow", "number, sha256, content",
    "people look at prompts by `assemble`", "project_doc_fallback_filenames with {name}",
    "store, directory, prefix, %(thread)s, %(selection)s", "store, directory, prefix, %(thread)s, %(selection)s, node",
    "this next last / %(span)s", "timed out", "the disk of the database is full", "ignore all", "ignore prev", "previous instruc",
    "today tomorrow yesterday tonight moment now these temporarily being",
}  # fmt: skip
WORD = re.compile(r"[^\W\d_]{2}")
MOST = 64  # alternatives of one sentence

# What earlier versions stored in lines of activity, which are never deleted.
STORED_BEFORE = (
    "unapplied", "%(policy)s for every agent",
    "made", "made it", "made the agent", "made a token for", "made a one-time link for", "made an account for", "took away the mount",
    "took away the source", "took away the webhook to", "took in the template of", "took over the sources of a configuration",
)  # fmt: skip

# Codes that pages show as they are, in the language of the page: kinds of findings and changes, states, roles, places.
CODES_SHOWN = (
    "secrets", "hidden", "injection", "coherence", "risky_advice", "duplicate", "feedback", "reads_only", "transient", "vague", "cost",
    "judge", "logged",
    "edits", "writes", "adds to", "deletes", "moves", "changes", "creates", "promotes", "promotes to", "wants to use",
    "pending", "approved", "rejected", "withdrawn", "outdated", "expired", "changes_requested", "held", "admitted", "discarded", "promoted",
    "edit", "write", "add to", "delete", "move", "promote to", "use", "edited", "created", "changed", "deleted", "moved", "restored",
    "%(count)s %(things)s", "Hidden: %(what)s.", "a minute", "%(count)s seconds", "%(count)s minutes",
    "changed %(what)s", "set", "proposal %(number)s", "record %(number)s", "receipt %(number)s", "the space %(name)s", "wrong",
    "viewer", "editor", "reviewer", "owner", "person", "agent", "disk", "hub", "import",
    "promotion", "template", "insert", "as viewer", "as editor", "as reviewer", "as owner", "corrected", "checked", "a retrieval",
    "from %(path)s",
    "admits", "holds", "a session", "a promotion", "one revision", "an exact text", "removed secret",
    "disk", "per thread", "of memory", "BOM", "no BOM",
    "one line", "LF and CR LF mixed", "CR LF and LF mixed", "no newline at the end",
    "filesystem", "database", "thread", "views", "review", "trusted", "read_only", "included", "empty", "missing", "error", "unused",
)  # fmt: skip
# Why a coding agent loads a file or does not, said in dialects/coding/, where most other literals are texts of prompts.
LOADING = (
    "Instructions of this folder", "Instructions of a folder above", "Instructions of the repository", "Instructions of the project",
    "Private instructions of this folder", "This person's instructions", "This person's instructions for every project",
    "Policy of the organization", "Read because no CLAUDE.md counts here or above", "A rule in %(folder)s", "A rule that always counts",
    "Imported by %(path)s", "Imported by %(path)s, but outside the folder it is started in; that needs an approval",
    "Imported %(level)s hops deep; %(most)s are followed", "Empty", "Empty, or comments alone", "No text by its name", "Not UTF-8",
    "Over 4 MiB", "The name must be CLAUDE.md, in capitals", "The name must be AGENTS.md, in capitals", "Switched off in settings",
    "Switched off in its front matter", "Switched off: project_doc_max_bytes is 0", "The project is not trusted in config.toml",
    "The index of its own memory", "Its own memory", "Its private notes on this project", "Denied by the permission rule %(rule)s",
    "Left out by claudeMdExcludes: %(pattern)s", "Loaded when %(path)s is read", "A link to %(real)s, which is loaded already",
    "A link out of the repository", "A link out of the folder; imports from outside need an approval",
    "%(name)s exists, so it alone is read", "%(name)s exists, and is read instead",
    "%(name)s lies beside it, so it alone is read", "%(first)s exists here or above, so %(name)s is not read",
    "%(name)s exists, so AGENTS.md is not read",
    "The limit of %(limit)s bytes for all files of the project is used up", "The limit for all files is used up",
    "The folder is in no git repository, so no file of it is read", "Below the folder that it is started in, and not loaded on demand",
    "Lost from line %(line)s on", "Says what %(path)s says", "Rules must end in .mdc", "A file of its workspace",
    "Aider reads no file by its name; list it under read: in .aider.conf.yml", "Listed by read: in %(config)s",
    "Named by instructions in opencode.json: %(entry)s",
)  # fmt: skip

# What argparse says by itself; the catalogues that it looks into have no Chinese.
ARGPARSE = (
    "the following arguments are required: %(names)s", "argument %(name)s: invalid choice: %(value)s (choose from %(choices)s)",
    "argument %(name)s: expected one argument", "argument %(name)s: invalid int value: %(value)s",
    "argument %(name)s: not allowed with argument %(other)s", "one of the arguments %(names)s is required",
    "unrecognized arguments: %(names)s", "show this help message and exit", "positional arguments", "options",
)  # fmt: skip

Message = tuple[str, str]  # msgid and plural, which is empty where there is none


def files() -> list[Path]:
    """Modules whose sentences people see. Clients and the API speak English; migrations run before anybody reads."""
    left_out = {"migrations", "client", "api", "wsgi.py"}
    return [one for one in sorted(PACKAGE.rglob("*.py")) if one.relative_to(PACKAGE).parts[0] not in left_out]


def speaks(file: Path) -> bool:
    name = file.relative_to(PACKAGE).as_posix()
    return name.startswith(SPEAKING) and not name.startswith(SILENT)


def messages_of(source: str, *, all_words: bool = False) -> Iterator[Message]:
    """What a module says; with `all_words` also every literal that reads like words for people."""
    tree = ast.parse(source)
    known, names = constants(tree), gettext_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from of_gettext(node, names)
            yield from ((text, "") for text in of_call(node, known, names))
    if all_words:
        yield from ((text, "") for text in in_tables(tree))
        yield from ((text, "") for text in words_in(tree, known, names) if like_a_sentence(text) and is_said(text))


def in_tables(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id in TABLES and isinstance(node, ast.Assign | ast.AnnAssign):
            values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
            parts = [one for value in values for one in ast.walk(value) if isinstance(one, ast.Constant)]
            yield from (one.value for one in parts if isinstance(one.value, str) and WORD.search(one.value))


def is_said(text: str) -> bool:
    """Whether a literal that reads like words is for people; hooks answer to agents, and a judge is a model."""
    return text not in NOT_SAID and not text.startswith(
        (
            "memoryhub: {path}",
            "memoryhub: this call",
            "You guard the short-term",
            "ok okay okey okie k kk",
            "a an the and or but nor",
        )
    )


def descriptions_of(source: str) -> Iterator[Message]:
    """What `memoryhub --help` says of a command, and its own help where that is all of it."""
    described = ast.get_docstring(ast.parse(source)) or ""
    yield described.partition("\n")[0], ""
    if "\n" in described and "__doc__" in source:
        yield described, ""


def gettext_names(tree: ast.AST) -> dict[str, str]:
    """What the functions of gettext are called in a module."""
    imports = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
    ]
    return {alias.asname or alias.name: alias.name for node in imports for alias in node.names if alias.name in GETTEXT}


def constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What is assigned to a name at the top level of a module or a class."""
    found: dict[str, ast.expr] = {}
    for body in [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]:
        for node in body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                found[node.target.id] = node.value
    return found


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def of_gettext(node: ast.Call, names: dict[str, str]) -> Iterator[Message]:
    function = names.get(called(node), "")
    texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    if function.startswith("ngettext") and len(texts) > 1:
        yield texts[0], texts[1]
    elif function.startswith("gettext") and texts:
        yield texts[0], ""
    elif called(node) in ("plural", "counted") and len(node.args) > 1 and texts:
        yield counted(*texts[:2])


def counted(one: str, many: str = "") -> Message:
    """What the tag and function `plural` look up, and `counted` in a sentence."""
    return f"%(count)s {one}", f"%(count)s {many or one + 's'}"


def of_call(node: ast.Call, known: dict[str, ast.expr], names: dict[str, str]) -> Iterator[str]:
    positions, keywords = TOLD.get(called(node), ((), ()))
    given = [node.args[at] for at in positions if at < len(node.args)]
    given += [one.value for one in node.keywords if one.arg in keywords]
    for expression in given:
        yield from readable(sentences(expression, known, names))


def words_in(node: ast.AST, known: dict[str, ast.expr], names: dict[str, str]) -> Iterator[str]:
    """Every sentence that stands below a node, with the values in it; without what nobody reads."""
    if is_text(node) and not isinstance(node, ast.IfExp):
        yield from readable(sentences(node, known, names))
        return
    unread = {id(part) for part in unread_parts(node, names)}
    for child in ast.iter_child_nodes(node):
        if id(child) not in unread:
            yield from words_in(child, known, names)


def is_text(node: ast.AST) -> bool:
    """Whether an expression is a literal, or a sum with one in it; lists are added as well, and have literals inside."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return is_text(node.left) or is_text(node.right)
    if isinstance(node, ast.IfExp):
        return is_text(node.body) or is_text(node.orelse)
    return isinstance(node, ast.Constant | ast.JoinedStr)


# Functions whose arguments nobody reads on a page: logs, mistakes of programmers, patterns, SQL.
QUIET = {
    "getLogger", "info", "warning", "error", "exception", "debug", "compile", "plain", "cursor", "execute", "executemany", "RuntimeError",
    "TypeError", "ValueError", "KeyError", "AssertionError", "ImproperlyConfigured", "getattr", "setattr", "hasattr", "RunSQL", "fullmatch",
    "search", "sub", "JsonResponse", "removeprefix", "removesuffix", "startswith", "Cache", "TypeVar", "Embedder", "Path", "shorten_line",
    "Item", "send", "hours",
}  # fmt: skip


def unread_parts(node: ast.AST, names: dict[str, str]) -> list[ast.AST]:
    """What stands directly below a node and is no text for people."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return [node.value]  # a docstring
        case ast.Call() if called(node) in {*names, *QUIET, *TOLD, "plural"}:
            return [*node.args, *node.keywords]
        case ast.Attribute(value=ast.Constant()):
            return [node.value]  # "one two".split()
        case ast.Dict():
            return [key for key in node.keys if key]
        case ast.Subscript():
            return [node.slice]
        case ast.Compare():
            return [node.left, *node.comparators]
        case ast.Assign(targets=[ast.Subscript()] | [ast.Name(id="__all__")]):  # headers of answers, names
            return [node.value]
        case ast.AnnAssign() | ast.arg():
            return [node.annotation] if node.annotation else []
        case ast.FunctionDef():
            return [node.returns] if node.returns else []
    return []


def readable(texts: list[str]) -> Iterator[str]:
    for text in texts:
        bare = re.sub(r"%\(\w+\)s", "", text)
        if WORD.search(bare):
            # Without values nothing is filled in, and a percent sign stands for itself.
            yield numbered(text).strip() if bare != text else text.replace("%%", "%").strip()


def numbered(text: str) -> str:
    """A sentence whose values have a name each: value, value2."""
    seen: Counter[str] = Counter()

    def name(found: re.Match[str]) -> str:
        seen[found[1]] += 1
        return f"%({found[1]}{seen[found[1]] if seen[found[1]] > 1 else ''})s"

    return re.sub(r"%\((\w+)\)s", name, text)


def sentences(node: ast.AST | None, known: dict[str, ast.expr], names: dict[str, str], depth: int = 0) -> list[str]:
    """What an expression may say, with placeholders for its values."""
    again = lambda one: sentences(one, known, names, depth + 1)  # noqa: E731
    match node:
        case ast.Constant(value=str(text)):
            return [text.replace("%", "%%")]
        case ast.Constant(value=None):
            return [""]
        case ast.JoinedStr(values=parts):
            return combined([again(part) for part in parts])
        case ast.FormattedValue(value=ast.IfExp() | ast.Constant() as value):
            return again(value)
        case ast.FormattedValue(value=value, conversion=conversion):
            found = placeholder(value, known)
            return [f"'{found}'"] if conversion == ord("r") else [found]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return combined([again(left), again(right)])
        case ast.IfExp(body=body, orelse=other):
            return again(body) + again(other)
        case ast.BoolOp(values=values):
            return [text for value in values for text in again(value)]
        case ast.NamedExpr(value=value):
            return again(value)
        case ast.Name(id=name) if name in known and depth < 8:
            return again(known[name])
        case ast.Call() if called(node) in names:
            return [""]  # in the catalogue already
        case None:
            return [""]
    return [placeholder(node, known)]


def combined(parts: list[list[str]]) -> list[str]:
    return ["".join(choice) for choice in list(product(*parts))[:MOST]]


def placeholder(node: ast.AST, known: dict[str, ast.expr]) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            pass
        case ast.Call():
            name = called(node) or "value"
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            name = key
        case _:
            name = "value"
    return f"%({re.sub(r'[^a-z0-9_]', '', name.lower()).strip('_') or 'value'})s"
