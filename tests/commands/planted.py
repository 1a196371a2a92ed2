"""Real-looking projects from a seed, with faults planted in their memory files, and where each fault has to be found."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Found = tuple[str, str, int]  # code, path below the project, line

TOPICS = (
    "Amounts are integers in cents, never floats.", "Dates are UTC, ISO 8601, with a zone.", "Errors name the field by its label.",
    "Branch names start with the ticket number.", "A migration is additive and has a default.", "Log lines have no personal data.",
    "Feature flags live in one module.", "Ask before adding a dependency.", "Keep functions short, with one return where it helps.",
    "Strings of the interface go through the catalogue.", "Prefer composition over inheritance.", "Retries have a limit and jitter.",
    "Write the test first; see it fail.", "Commit messages are imperative.", "Never edit generated code.", "Money rounds half to even.",
    "请先运行测试，再提交代码。", "Die Namen der Tabellen stehen in der Einzahl.", "Public functions have a docstring 👩‍💻.",
)  # fmt: skip
HARMLESS = (
    "Owners: @alice and @bob-smith; mail team@example.org.", "Builds land in `dist/app.js` and `build/out.css`.",
    "Create `src/new_module.py` for a new page.", "Name tests like `tests/test_x.py`, for example `tests/test_orders.py` will be found.",
    "The template renders `templates/missing.html`.", "Docs: https://example.org/guide/start.md and [more](docs/guide.md).",
    "The token is read from `API_TOKEN`; never paste one, `API_TOKEN=your-token-here` is the example.",
    "Version pinned at 3f786850e387550fdab836ed7e6dc881de23001b in the lock file.", "Use `git rebase -i` and `docker compose up`.",
    "Routes look like `/api/v1/orders`, packages like `@scope/name`.", "Globs such as `src/**/*.py` are fine.",
    "The shared rules are in `../handbook/rules/style.md`.", "Local settings live in `src/local_settings.py` and `docs/.env.test`.",
    "`docs/old.md` does not exist any more.", "`src/certificate.pem` is gitignored.", "Name pages like `docs/your-page.md`.",
    "Deploys: `make deploy ENV=prod` is not for agents.", "An order has an id such as 5f0c2c5e-8d7e-4b0a-9a57-0c1de0a1f7b2.",
)  # fmt: skip
FENCE = "```sh\ngit clone git@example.org:shop/shop.git\npip install -r requirements.txt\ncd tools/site\nnpm run preview\nmake preview\n```"
TABLE = "## Where settings of each package of this product are\n\n| Option | Type | Default | What it means there |\n|---|---|---|---|\n"
KINDS = ("secret", "hidden", "dead_path", "missing_command", "missing_import", "not_read", "cut", "repeated", "contradiction")  # fmt: skip


@dataclass
class Project:
    """Files by path, and the faults that were planted in them."""

    files: dict[str, str]
    planted: set[Found] = field(default_factory=set)
    links: dict[str, str] = field(default_factory=dict)

    def append(self, path: str, line: str) -> int:
        """Adds a line at the end of a file, and answers its number."""
        text = self.files.get(path, "")
        text = text if not text or text.endswith("\n") else text + "\n"
        self.files[path] = f"{text}{line}\n"
        return self.files[path].count("\n")


def project(seed: int) -> Project:
    """A project without a fault, in its texts and sizes like those of people."""
    rng = random.Random(seed)
    found = Project(
        {"src/app.py": "", "docs/guide.md": "# Guide\n", "Makefile": "test: src\n\tpytest\ndeploy:\n\ttrue\n"}
    )
    found.files["package.json"] = '{"scripts": {"build": "vite build", "lint": "eslint ."}}'
    found.files |= {
        ".gitignore": "/src/local_*.py\n*.log\n",
        "docs/handlers/context.md": "# Context\n\n`src/gone.py`\n",
    }
    harmless = rng.sample(HARMLESS, len(HARMLESS))
    for part in ["", *rng.sample(["web", "api", "jobs", "libs/core"], rng.randint(0, 3))]:
        head = f"{part}/" if part else ""
        found.files[f"{head}AGENTS.md"] = _text(rng, part or "Shop", [harmless.pop() for _ in range(3)])
        found.files[f"{head}CLAUDE.md"] = rng.choice(["@AGENTS.md\n", "# Claude Code\n\n@AGENTS.md\n", "- @AGENTS.md"])
        if rng.random() < 0.5:
            found.files[f"{head}GEMINI.md"] = "@./AGENTS.md\n"
        if part:
            found.files[f"{head}src/main.py"] = ""
    for part in (
        ("linked", "parts/linked", "other") if rng.random() < 0.5 else ()
    ):  # one text under two names, and a table
        text = _text(rng, part, [harmless.pop()]).removeprefix("\ufeff")
        found.files[f"{part}/AGENTS.md"] = f"<!-- {part} -->\n{text}\n{TABLE}| {part} | text | none | {part} |\n"
        found.files[f"{part}/package.json"] = '{"scripts": {"seed": "node seed.js"}}'
        found.links[f"{part}/CLAUDE.md"] = "AGENTS.md"
    return found


def _text(rng: random.Random, name: str, harmless: list[str]) -> str:
    rules = [f"- {line}" for line in (*harmless, f"Here is {name}, part {rng.randint(1, 9)} of the product.")]
    rules += [f"- {line[:-1]} ({name}, {rng.randint(10, 99)})." for line in rng.sample(TOPICS, 6)]
    rules += ["- Run `make test` and `npm run build`; the entry is `src/app.py`."] if name == "Shop" else []
    rng.shuffle(rules)
    parts = [f"# {name}", *([FENCE] if rng.random() < 0.4 else []), "\n".join(rules)]
    text = "\n\n".join(parts) + "\n"
    if rng.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return "\ufeff" + text if rng.random() < 0.1 else text


def plant(found: Project, kind: str, rng: random.Random) -> None:
    """Puts one fault of a kind into the project, where it does not stand in the way of others."""
    parts = sorted(path.removesuffix("AGENTS.md") for path in found.files if path.endswith("AGENTS.md"))
    if kind == "missing_import":
        parts = [part for part in parts if f"{part}CLAUDE.md" in found.files]
    head = rng.choice(parts)
    path = f"{head}AGENTS.md"
    lines = {
        "secret": f"- The token is ghp_{''.join(rng.choices('abcdefghijkmnopqrstuvwxyzABCDEFGH0123456789', k=36))}",
        "hidden": f"- Close at {rng.choice(['‮nine', 'ni​ne', '󠁡󠁢󠁣nine'])} sharp.",
        "dead_path": f"- See `src/gone_{rng.randint(1, 99)}.py` first.",
        "missing_command": rng.choice(["- Run `make gone` first.", "- Run `npm run gone` first."]),
    }
    if kind in lines:
        found.planted.add((kind, path, found.append(path, lines[kind])))
    elif kind == "missing_import":
        number = found.append(f"{head}CLAUDE.md", f"@docs/gone_{rng.randint(1, 99)}.md")
        found.planted.add((kind, f"{head}CLAUDE.md", number))
    elif kind == "contradiction":
        found.append(path, "- Use tabs.")
        found.files.setdefault(f"{head}GEMINI.md", "@./AGENTS.md\n")
        found.planted.add((kind, f"{head}GEMINI.md", found.append(f"{head}GEMINI.md", "- Use spaces.")))
    else:
        _plant_in_more_files(found, kind, rng)


def _plant_in_more_files(found: Project, kind: str, rng: random.Random) -> None:
    if kind == "not_read":  # Claude Code reads CLAUDE.md alone, and others AGENTS.md alone
        found.files |= {"tool/AGENTS.md": "- Only for some.\n", "tool/CLAUDE.md": "- Only for one.\n"}
        found.planted |= {("not_read", "tool/AGENTS.md", 1), ("not_read", "tool/CLAUDE.md", 1)}
    elif kind == "cut":
        room = 32_768 - len(found.files["AGENTS.md"].encode("utf-8"))
        text = f"# Long\n\n{'- ' + 'x' * rng.randint(1, 60)}\n" + "- a rule\n" * 4_000
        found.files["long/AGENTS.md"] = text
        found.files["long/CLAUDE.md"] = "@AGENTS.md\n"
        found.planted.add(("cut", "long/AGENTS.md", text[:room].count("\n") + 1))
    else:
        rule = f"Run the whole suite before you push, on machine {rng.randint(1, 99)}, without network."
        for name in ("first", "second", "third"):
            number = found.append(f"{name}/AGENTS.md", f"- {rule}")
            found.files[f"{name}/CLAUDE.md"] = "@AGENTS.md\n"
            if name == "first":
                found.planted.add(("repeated", "first/AGENTS.md", number))


def planted_project(seed: int) -> Project:
    """A project with none to four faults of different kinds; each kind comes in every ninth project at least."""
    rng = random.Random(f"faults {seed}")
    found = project(seed)
    kinds = [KINDS[seed % len(KINDS)], *rng.sample(KINDS, 3)][: rng.randint(0, 4)] if seed % 10 else []
    for kind in sorted(dict.fromkeys(kinds), key=lambda kind: kind == "cut"):  # a cut depends on what stands above it
        plant(found, kind, rng)
    return found
