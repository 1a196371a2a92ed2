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

PACKAGE = Path(memoryhub.__file__).parent
GETTEXT = {"gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
REFUSALS = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, errors.HubError)}
# Arguments that are sentences, or parts of one, by the name of what is called: positions and keywords.
TOLD: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    **dict.fromkeys(REFUSALS, ((0,), ())),
    "record": ((3,), ("adds", "aside")),
    "make_line": ((3,), ("adds", "aside")),
}
# Tables of sentences: names at the top level of a module, whose texts are shown somewhere.
TABLES: dict[str, tuple[str, ...]] = {}
WORD = re.compile(r"[^\W\d_]{2}")
MOST = 64  # alternatives of one sentence

Message = tuple[str, str]  # msgid and plural, which is empty where there is none


def files() -> list[Path]:
    """Modules whose sentences people see. Clients and the API speak English; migrations run before anybody reads."""
    left_out = {"migrations", "client", "api"}
    return [one for one in sorted(PACKAGE.rglob("*.py")) if one.relative_to(PACKAGE).parts[0] not in left_out]


def messages_of(source: str, tables: tuple[str, ...] = ()) -> Iterator[Message]:
    tree = ast.parse(source)
    known, names = constants(tree), gettext_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from of_gettext(node, names)
            yield from ((text, "") for text in of_call(node, known, names))
    for name in tables:
        yield from ((text, "") for text in texts_in(known[name], known, names))


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
    if function.startswith("ngettext") and len(texts) == 2:
        yield texts[0], texts[1]
    elif function.startswith("gettext") and texts:
        yield texts[0], ""
    elif called(node) == "plural" and len(node.args) > 1 and texts:
        yield counted(*texts[:2])


def counted(one: str, many: str = "") -> Message:
    """What the tag and function `plural` look up."""
    return f"%(count)s {one}", f"%(count)s {many or one + 's'}"


def of_call(node: ast.Call, known: dict[str, ast.expr], names: dict[str, str]) -> Iterator[str]:
    positions, keywords = TOLD.get(called(node), ((), ()))
    given = [node.args[at] for at in positions if at < len(node.args)]
    given += [one.value for one in node.keywords if one.arg in keywords]
    for expression in given:
        yield from readable(sentences(expression, known, names))


def texts_in(node: ast.AST, known: dict[str, ast.expr], names: dict[str, str]) -> Iterator[str]:
    """Every sentence inside a table; its keys are no sentences."""
    if isinstance(node, ast.Dict):
        for value in node.values:
            yield from texts_in(value, known, names)
    elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Call | ast.keyword):
        for value in ast.iter_child_nodes(node):
            yield from texts_in(value, known, names)
    elif isinstance(node, ast.Lambda):
        yield from texts_in(node.body, known, names)
    else:
        yield from readable(sentences(node, known, names))


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
