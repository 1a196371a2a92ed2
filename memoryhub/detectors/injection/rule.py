"""What a rule for injections is, and the parts of sentences that several rules share."""

from __future__ import annotations

from dataclasses import dataclass

from ..finding import Severity
from ..patterns import Bounded, bounded, plain
from ..stems import Group, opened


@dataclass(frozen=True)
class Rule:
    kind: str
    severity: Severity
    groups: tuple[Group, ...]
    needles: tuple[str, ...]
    pattern: Bounded
    says: str
    opens: Group | None
    """The pattern begins with one of these words; nothing: it may begin anywhere."""


def rule(kind: str, severity: Severity, words: str, pattern: str, says: str) -> Rule:
    """`words`: of each group (between slashes) one must stand near. Before a `^` stand the words that the pattern begins with;
    a leading `^` says that these are the first group. A leading `=` gives literal needles instead."""
    if words.startswith("="):
        return Rule(kind, severity, (), tuple(words[1:].split("¦")), _compiled(pattern), says, None)
    near, opens = opened(words)
    return Rule(kind, severity, near, (), _compiled(pattern), says, opens)


MAX_HIT = 1_000
"""Characters that a rule looks at from where it begins."""

# Blanks that no line's end has to follow: what took them never gives them back, so that a thousand of them are one step.
_BLANKS = plain(r"\\s([*+])(?![?+])(?!\\n|\\s|,\?\\s|\(\?:[^)]*(?:\\n|\$)|\(\?:(?:[^)]*\|)?,?\??\\s)")


def _compiled(pattern: str) -> Bounded:
    return bounded(_BLANKS.sub(r"\\s\1+", pattern), reach=MAX_HIT)


GAP = r"[^.\n]{0,40}?"
WIDE = r"(?:[^.\n]|\.(?=\S)){0,120}?"
NEAR = r"(?:[^.\n]|\.(?=\S)){0,80}?"
BEFORE = r"(?:previous|prior|above|preceding|earlier|foregoing|existing|original|initial|other|current|system|developer|past|last)"
ORDERS = r"(?:instruction|direction|directive|rule|prompt|guideline|command|order|polic(?:y|ie)|constraint|restriction|message|context|training|programming|text|input|assignment|task|conversation|safeguard)s?"
DROP = r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|bypass(?:ing)?|neglect|discard(?:ing)?|drop|cancel|supersedes?|void|nullify|set\s+aside|pay\s+no\s+attention\s+to|do\s+not\s+(?:follow|obey))"
LOOT = (
    r"(?:(?<!x-)api[\s_-]?keys?|credentials?|secrets?\b|tokens?\b|passwords?|env(?:ironment)?[\s_-]?(?:variables?|vars?|file)|\.env\b|ssh\s+keys?|private\s+keys?|id_rsa|"
    r"(?:chat|conversation|message|session)\s+(?:history|logs?|transcripts?|contents?)|(?:whole|entire|full)\s+(?:conversation|chat|memory)|system\s+prompt|"
    r"(?:customer|user|personal|private|confidential|sensitive|internal)(?:'s)?\s+(?:data|information|details|emails?|records?|files?|documents?|messages?|notes)|"
    r"memory\s+(?:file|content)s?|everything\s+(?:you|the\s+user)|cookies|wallet(?!'s\b|[\s-]address)|aws_\w|/etc/passwd|~/\.(?:ssh|aws|config)|what\s+the\s+user\s+(?:says|types|wrote))"
)
# A call that only shows who is calling (`-u`, an Authorization header) sends nothing away; one that sends a file does.
CURL = r"curl(?!(?![^\n]{0,400}\s(?:-d|--data\S{0,20}|-f|--form|-t|--upload-file)\s+\S{0,40}[@$])[^\n]{0,60}\s(?:(?:-h|--header)\s+\W?(?:[\w-]{0,20}(?:authorization|auth|key|token|secret))\W?:|-u\s|--user\s))"
SEND = rf"(?:send|post|upload|forward|transmit|exfiltrate|e?mail|submit|leak|copy|relay|ship|deliver|push|bcc|cc|append|embed|encode|include|report|share|dump|pipe|{CURL}|pass|smuggle)"
AWAY = r"(?:(?<!\]\()https?://|ftp://|to\s+(?:this|the|an?|our|my|that)\s+(?:\w+\s+){0,2}(?:url|endpoint|webhook|server|address|e?mail|domain|site|channel|host|listener)|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.\w|(?:as|in)\s+(?:an?|the)\s+(?:\w+\s+)?(?:quer(?:y|ies)|url|image|link|parameter|dns)|\.(?:evil|attacker)\b|(?<![\w-])(?:evil|attacker|exfil)[\w-]{0,64}\.\w|pastebin|webhook\.site|requestbin|ngrok|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})"
PERSON = r"(?:the\s+|any\s+|your\s+|our\s+)?(?:users?|humans?|people|anyone|anybody|operators?|owners?|reviewers?|developers?|admins?|administrators?|them)"

# Programs and browsers have a developer mode of their own.
NO_SWITCH = r"(?![^\n]{0,60}(?:chrome|extension|setting|android|iphone|device|discord|toggle|windows|browser|simulator|symlink|elevated|powershell|orchestrator))"
