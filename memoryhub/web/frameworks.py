"""What agents run on: the cards of the new agent's page, and the lines that connect each of them to this hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memoryhub import dialects
from memoryhub.domain import exchange, files, prompts
from memoryhub.models import Agent, Mount, Space
from memoryhub.stores import paths

Words = str | Promise
NOTE, STORE = (
    "bakery.md",
    "/memories/store/",
)  # what the examples write, and where the client keeps the items of a store
MOUNTS_TRIED = 10
NO_TOKEN = "mh_…"  # noqa: S105  (what stands where a token belongs)


@dataclass(frozen=True)
class Lines:
    """One thing to copy: a template of connect/snippets, and where it goes."""

    key: str
    title: Words
    where: Words
    note: Words = ""


@dataclass(frozen=True)
class Framework:
    """A card: what it is, the dialect that it chooses, the extra of the client, and its lines."""

    key: str
    label: str
    note: Words
    initials: str
    colour: int  # of static/css/parts/agents.css, a0 to a8
    lines: tuple[Lines, ...]
    extra: str = ""
    dialect: str = dialects.AUTO
    needs_environment: bool = True  # whether its lines read address and token from the environment
    has_store: bool = False  # whether it keeps items in a store of the client
    try_it: Words = ""  # what to run or to say first


@dataclass(frozen=True)
class Block:
    """Lines with address and token filled in."""

    key: str
    title: Words
    where: Words
    text: str
    note: Words = ""

    @property
    def is_one_line(self) -> bool:
        return "\n" not in self.text


@dataclass
class Shown:
    """A framework with its blocks."""

    framework: Framework
    blocks: list[Block] = field(default_factory=list)


SHELL = gettext_lazy("in your shell")
RUN_AGENT = gettext_lazy("python agent.py")
SAY = gettext_lazy("Ask it: “Read the team's memory, then remember that the bakery closes at 18:00.”")
ON_PATH = gettext_lazy(
    "Where memoryhub is not on the path of the program, give the full path that `which memoryhub` prints."
)
MODEL_KEY = gettext_lazy("The model needs its own key in the environment, such as ANTHROPIC_API_KEY.")

FRAMEWORKS = (
    Framework(
        "deepagents", "deepagents", "0.7", "Da", 1, (Lines("deepagents", gettext_lazy("Code"), "agent.py", MODEL_KEY),),
        extra="deepagents", dialect="deepagents",
        try_it=gettext_lazy('python -m memoryhub.client.example "The bakery closes at 18:00."'),
    ),
    Framework("langgraph", "LangGraph", "1.x", "Lg", 5, (Lines("langgraph", gettext_lazy("Code"), "agent.py"),),
              extra="langgraph", has_store=True, try_it=RUN_AGENT),
    Framework("anthropic", "Anthropic SDK", gettext_lazy("memory tool"), "An", 4,
              (Lines("anthropic", gettext_lazy("Code"), "agent.py", MODEL_KEY),), extra="anthropic", try_it=RUN_AGENT),
    Framework("claude-code", "Claude Code", "MCP", "Cc", 7, (Lines("claude-code", gettext_lazy("Register"), SHELL, ON_PATH),),
              extra="mcp", needs_environment=False, try_it=SAY),
    Framework("codex", "Codex CLI", "MCP", "Cx", 2, (Lines("codex", gettext_lazy("Register"), SHELL, ON_PATH),),
              extra="mcp", needs_environment=False, try_it=SAY),
    Framework("cursor", "Cursor", "MCP", "Cu", 6, (Lines("mcp", gettext_lazy("Settings"), ".cursor/mcp.json", ON_PATH),),
              extra="mcp", needs_environment=False, try_it=SAY),
    Framework("mcp", gettext_lazy("MCP client"), gettext_lazy("any client"), "Mc", 3,
              (Lines("mcp", gettext_lazy("Settings"), gettext_lazy("the client's MCP settings"), ON_PATH),),
              extra="mcp", needs_environment=False, try_it=SAY),
    Framework(
        "other", gettext_lazy("Something else"), gettext_lazy("Python or REST"), "+", 0,
        (
            Lines("python", "Python", "agent.py"),
            Lines("curl", "curl", SHELL, gettext_lazy("Without the client: any program that speaks HTTP.")),
            Lines("typescript", "TypeScript", "agent.ts"),
            Lines("sync", gettext_lazy("AGENTS.md on disk"), SHELL,
                  gettext_lazy("The folder follows what was approved; edits in it become proposals.")),
        ),
        try_it=RUN_AGENT,
    ),
)  # fmt: skip
BY_KEY = {one.key: one for one in FRAMEWORKS}


def framework_of(key: str | None, agent: Agent | None = None) -> Framework:
    """The chosen framework; without a choice the one that the agent's dialect names, else the first."""
    if key in BY_KEY:
        return BY_KEY[key]
    if agent is None or agent.dialect.startswith("deepagents"):
        return FRAMEWORKS[0]
    library = str((agent.reported or {}).get("library", ""))
    return BY_KEY.get(library, BY_KEY["other"])


def hub_address(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")


def install_line(request: HttpRequest, extra: str = "") -> str:
    """What installs this hub's client: an address, because a name would be looked up on a package index."""
    wheel = request.build_absolute_uri(reverse("client.wheel", args=[exchange.client_wheel().name]))
    return f'pip install "{exchange.CLIENT_NAME}[{extra}] @ {wheel}"' if extra else f'pip install "{wheel}"'


def installs(request: HttpRequest) -> list[Block]:
    """The line of the client alone, and with each extra."""
    plain = Block("client", _("Client"), _("REST, without a framework"), install_line(request))
    extras = [
        Block(f"client-{extra}", extra, _("with what the framework needs"), install_line(request, extra))
        for extra in exchange.CLIENT_EXTRAS
    ]
    return [plain, *extras]


def writable_prefixes(space: Space) -> list[str]:
    """The prefixes of mounts whose files last, for the examples, that of the first source in prompts first; none that code, JSON
    and addresses cannot hold as it is."""
    found = [
        one.prefix
        for one in files.mounts_of_space(space)
        if one.store in (Mount.Store.DATABASE, Mount.Store.FILESYSTEM) and one.policy != "read_only"
    ]
    in_prompts = next((one.path for one in prompts.sources_of(space)), "/memories/")
    found.sort(key=lambda prefix: not paths.under(prefix, in_prompts))
    return [prefix for prefix in found if re.fullmatch(r"/[\w./~-]*", prefix)][:MOUNTS_TRIED]


def takes(space: Space, path: str) -> bool:
    """Whether agents may write a file of this path, at once or as a proposal."""
    outcome = files.outcome_of_write(space, files.explain_path(space, path), None)
    return outcome.code in ("applied", "conditional", "proposal")


def note_prefix(space: Space) -> str:
    """The prefix below which the examples write a note: the first that takes one, else the first of all; "" where there is none."""
    prefixes = writable_prefixes(space)
    return next((one for one in prefixes if takes(space, f"{one}{NOTE}")), prefixes[0] if prefixes else "")


def store_root(space: Space) -> str:
    """The folder for the items of LangGraph's store, which are JSON files: the client's own choice where that works, else one
    below another mount; "" where every mount leaves such files out."""
    folders = [STORE, *(f"{one}store/" for one in writable_prefixes(space))]
    return next((one for one in folders if takes(space, f"{one}item.json")), "")


def with_lines(request: HttpRequest, space: Space, secret: str = "") -> list[Shown]:
    """Every framework with its lines; `secret` stands in them where a token was made just now."""
    prefix, root = note_prefix(space), store_root(space)
    values = {
        "url": hub_address(request), "token": secret or NO_TOKEN, "prefix": prefix, "routed": prefix or "/memories/",
        "mount": f', mount="{prefix}"' if prefix not in ("", "/memories/") else "", "space": space.slug,
        "root": f', root="{root}"' if root not in ("", STORE) else "", "needs_mount": "" if root else STORE if prefix else "/memories/",
    }  # fmt: skip
    return [Shown(one, blocks_of(request, one, values)) for one in FRAMEWORKS]


def blocks_of(request: HttpRequest, framework: Framework, values: dict[str, str]) -> list[Block]:
    served = _("Served by this hub, not by a package index. Needs Python 3.11 or newer.")
    blocks = [Block(f"{framework.key}-install", _("Install"), SHELL, install_line(request, framework.extra), served)]
    if framework.needs_environment:
        blocks.append(Block(f"{framework.key}-token", _("Environment"), SHELL, snippet("token", values)))
    if framework.has_store and values["needs_mount"]:
        why = _("The items of a LangGraph store are JSON files, and no mount takes them. This keeps them in the hub.")
        line = snippet("store", values)
        blocks.append(
            Block(f"{framework.key}-store", _("Place for the store"), _("once, where the hub runs"), line, why)
        )
    blocks += [
        Block(f"{framework.key}-{one.key}", one.title, one.where, snippet(one.key, values), one.note)
        for one in framework.lines
    ]
    return blocks


def snippet(key: str, values: dict[str, str]) -> str:
    return render_to_string(f"connect/snippets/{key}.txt", values).strip("\n")
