"""What reads like words for people."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import memoryhub

STYLES = Path(memoryhub.__file__).parent.parent / "static/css"
WORD = re.compile(r"[A-Za-z]{2,}")
# Names and terms that are written alike in every language.
SAME_EVERYWHERE = (
    "memoryhub", "Markdown", "JSON", "CSV", "YAML", "API", "MCP", "URL", "ETag", "SHA-256", "sha256", "UTF-8", "LF",
    "CRLF", "BOM", "HTML", "ZIP", "Zip", "deepagents-code", "deepagents", "LangGraph", "Anthropic SDK", "Anthropic",
    "Claude Code", "Codex CLI", "Claude", "Codex", "Cursor", "Gemini CLI", "OpenCode", "Copilot CLI", "Copilot", "Hermes",
    "Windsurf", "Zed", "Amp", "Aider", "Cline", "OpenClaw", "Ollama", "OpenAI", "Slack", "GitHub", "Git", "Python",
    "JavaScript", "PostgreSQL", "OpenID Connect", "OIDC", "Ctrl", "Cmd", "Alt", "Shift", "Enter", "Esc", "Tab",
    "cosine", "kB", "MB", "GB", "min", "ms", "BM25", "HNSW", "English", "rk", "AGENTS.md", "CLAUDE.md", "GEMINI.md",
    "MEMORY.md", "SKILL.md", "curl", "pip", "npm", "vim", "Django", "htmx", 
    "Edge", "Opera", "Firefox", "Chrome", "Safari", "Android", "Windows", "Mac OS", "macOS", 
    "iPhone", "iPad", "Linux", "memory hub", "CodeMirror", "text-embedding-3-small", "TOTP", "QR",
)  # fmt: skip
NAMES = re.compile(
    "|".join(rf"(?<![A-Za-z]){re.escape(one)}(?![A-Za-z])" for one in sorted(SAME_EVERYWHERE, key=len, reverse=True))
)
SQL = re.compile(
    r"\b(SELECT|UPDATE [a-z]|INSERT INTO|DELETE FROM|ORDER BY|UNION ALL|WHERE|LIMIT|OFFSET|AS [a-z]+$|FROM [a-z]+$|ON true|IS NULL|DROP|"
    r"ALTER [A-Z]+ CURRENT|ALTER TABLE|ADD CONSTRAINT|GRANT|FOR UPDATE|RETURNING|CASE WHEN)\b|jsonb_|\b[a-z]\.[a-z_]+,|\bid, |, at$"
)


# Codes of two words: what a page asks for, classes of CSS, what a shell takes.
CODES = {
    "signed in",
    "found mild",
    'pip install "',
    "Referer",
    "Lax",
    "Imported by",
    "the disk of the database is full",
}


def prose(text: str) -> bool:
    """Whether a text has words that would have to be translated."""
    text = NAMES.sub(" ", text)
    text = re.sub(
        r"&\w+;|https?://\S+|\S*[/_@]\S*|\{[^}]*\}|--?[a-z-]+|\S+\.(md|py|json|toml|yaml|txt|jsonl|zip|css|js)\b",
        " ",
        text,
    )
    return bool(WORD.search(NAMES.sub(" ", text)))


def like_a_sentence(text: str) -> bool:
    """Whether a literal, which may be a name of something, reads like words for people."""
    bare = re.sub(r"<[^>]*>|%\(\w+\)s|%[sd]|\{[^}]*\}", " ", text).strip()
    if not prose(bare) or re.search(r";(?! )|[<>={}\\|^$]|::|\(\?", bare) or SQL.search(bare):
        return False
    words = bare.split()
    if text.strip() in CODES or "\n" in text or "\0" in text:
        return False
    if len(words) > 40 and "." not in bare:
        return False
    if len(words) > 9 and not re.search(r"[.,:;](\s|$)|[“(]|\b(the|a|is|of|to|for|in|while)\b", bare, re.I):
        return False  # a list of words to look for
    if len(words) > 1 and sum(1 for word in words if WORD.search(word)) > 1:
        return not all(word in css_classes() for word in words)
    return bool(re.fullmatch(r"[A-Z][a-z]{2,}[.:…]?", bare))


@cache
def css_classes() -> set[str]:
    styles = " ".join(file.read_text() for file in STYLES.rglob("*.css"))
    return set(re.findall(r"\.([a-zA-Z][\w-]*)", styles)) | {"g", "split"}
