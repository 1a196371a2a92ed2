"""Experience that reads like a helpful recipe and does harm where it is followed: advice for a reviewer to look closely.

Three kinds, each a sentence that tells what to do: data, credentials or traffic go to an address; a check is loosened; something
from outside is installed or run. Honest memory says such things too (`curl … | sh` of an installer), so nothing is held for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .costs import spend
from .finding import Finding, Lines
from .known_texts import KnownText
from .patterns import Bounded, bounded
from .scanning import Group, groups

CODE = "risky_advice"
MAX_FINDINGS = 20
_REACH = 400

_ADDRESS = (
    r"(?:https?://|wss?://|ftp://|s3://|gs://|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[a-z]{2,}|\b\d{1,3}(?:\.\d{1,3}){3}\b|"
    r"\b(?:[a-z0-9-]{1,40}\.){1,4}(?:com|net|org|io|dev|app|co|ai|xyz|info|site|online|cloud|me|sh|example|internal|test|biz|tech|top|ru|cn|cc|to|link|click|live|pro)\b(?!\())"
)
_HOME = r"(?:https?://)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|(?:www\.)?example\.(?:com|org|net)\b)"
_DATA = (
    r"(?:logs?|transcripts?|conversations?|chats?|messages?|records?|datas?(?:ets?|base)?|dumps?|backups?|exports?|reports?|results?|outputs?|payloads?|contents?|files?|documents?|"
    r"attachments?|invoices?|orders?|customers?|users?|contacts?|addresses|emails?|mails?|credentials?|tokens?|keys?|secrets?|passwords?|cookies?|sessions?|headers?|configs?|"
    r"configuration|environment|env(?:ironment)?\s+variables?|\.env|traces?|telemetry|diagnostics?|screenshots?|responses?|requests?|traffic|queries|history|notes|summar(?:y|ies)|details|copy|copies|everything)"
)
_SEND = (
    r"(?:send(?:ing|s)?|post(?:ing|s)?|upload(?:ing|s)?|forward(?:ing|s)?|mirror(?:ing|s)?|copy(?:ing)?|cc|bcc|e?mail(?:ing|s)?|sync(?:ing|s)?|replicat(?:e|ing|es)|stream(?:ing|s)?|ship(?:ping|s)?|"
    r"push(?:ing|es)?|report(?:ing|s)?|submit(?:ting|s)?|rout(?:e|ing|es)|prox(?:y|ying|ies)|redirect(?:ing|s)?|export(?:ing|s)?|back(?:ing)?\s+up|deliver(?:ing|s)?|relay(?:ing|s)?|publish(?:ing|es)?|paste|share|tunnel(?:ing|s)?)"
)
_CHECK = (
    r"(?:(?:tls|ssl|certificate|cert|signature|checksum|hash|host\s?key|hostname|integrity|input|schema|csrf|cors|origin|permission|access|auth(?:entication|ori[sz]ation)?|mfa|2fa|two-factor|otp|captcha|"
    r"rate\s+limit(?:ing|s)?|virus|malware|security|safety|review|approval|sandbox|firewall|policy|secret\s+scann?ing|branch\s+protection|pre-?commit|audit|logging|fraud|kyc|identity)"
    r"(?:[\s/-]+(?:and[\s/-]+)?\w+){0,2}?[\s-]+(?:checks?|verification|validation|scan(?:s|ning)?|gates?|steps?|limits?|hooks?|protection|policies|controls?|filters?|logs?|requirements?|reviews?|approvals?|warnings?|guards?)|"
    r"(?:authentication|authori[sz]ation|approvals?|code\s+reviews?|sandbox(?:ing)?|selinux|apparmor|gatekeeper|(?:the\s+)?firewall|seccomp|2fa|mfa|audit\s+log(?:ging|s)?|rate\s+limit(?:ing|s)?|csrf|cors|tls|ssl|antivirus|defender|dependabot|branch\s+protection))"
)
_LOOSEN = (
    r"(?:disabl(?:e|es|ing)|turn(?:ing|s)?\s+off|switch(?:ing)?\s+off|skip(?:s|ping)?|bypass(?:es|ing)?|suppress(?:es|ing)?|by-?pass|ignor(?:e|es|ing)|omit(?:s|ting)?|drop(?:ping)?|remov(?:e|es|ing)|relax(?:es|ing)?|"
    r"loosen(?:ing)?|waiv(?:e|es|ing)|weaken(?:ing)?|comment(?:ing)?\s+out|waiv(?:e|ing))"
)


@dataclass(frozen=True)
class _Sign:
    kind: str
    words: tuple[Group, ...]
    pattern: Bounded
    says: str


def _sign(kind: str, words: str, pattern: str, says: str) -> _Sign:
    return _Sign(kind, groups(words), bounded(pattern, reach=_REACH), says)


_SENDS = "send post upload forward mirror copy copyin cc bcc email mail sync replic stream ship push report submit route routing proxy redirect export back backing deliver relay publish paste share tunnel"
_LOOSENS = (
    "disable turn switch skip bypass by suppress ignor omit drop remove relax loosen waive waiving weaken comment"
)
_CHECKS = (
    "tls ssl cert certif signat checks hash host integrity input schema csrf cors origin permis access auth authen author mfa 2fa two otp captcha rate virus malware security safety review approv "
    "confirm sandbox firewall policy lint type test secret branch pre audit logging limit fraud kyc identity verif valid selinux apparmor gatekeeper seccomp antivirus defender dependabot"
)
_SIGNS: tuple[_Sign, ...] = (
    _sign("sends", _SENDS, rf"\b{_SEND}\b(?:(?!\b(?:never|only|changed)\b)[^.\n]|\.(?=\S)){{0,120}}?\b{_DATA}\b(?:(?!\b(?:only|changed)\b)[^.\n]|\.(?=\S)){{0,100}}?\b(?:to|via|through)\b(?:[^.\n]|\.(?=\S)){{0,60}}?(?!{_HOME}){_ADDRESS}",
          "it sends data or traffic to an address"),
    _sign("sends", _SENDS, rf"\b{_SEND}\b\s+(?:\w+\s+){{0,4}}?(?:to|at|through|via)\s+(?:[`\"'<(]{{0,2}})(?!{_HOME}){_ADDRESS}(?:[^.\n]|\.(?=\S)){{0,100}}?\b{_DATA}\b",
          "it sends data or traffic to an address"),
    _sign("sends", f"{_SENDS} sent forwarded mailed copied synced shipped routed", rf"\b{_DATA}\b[^.\n]{{0,40}}?\b(?:is|are|be|get|gets|being|goes?|been)\s+(?:\w+\s+){{0,2}}?(?:sent|posted|uploaded|forwarded|mirrored|copied|e?mailed|synced|replicated|streamed|shipped|pushed|submitted|routed|proxied|redirected|exported|backed\s+up|relayed|published|to)\s+(?:\w+\s+){{0,3}}?(?:to|at|via|through)?\s{{0,3}}[`\"'<(]{{0,2}}(?!{_HOME}){_ADDRESS}|\b(?:bcc|cc)\s+(?:\w+\s+){{0,3}}?[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[a-z]{{2,}}",
          "it sends data or traffic to an address"),
    _sign("sends", "curl wget http fetch nc / data file upload form post body stdin env tcp", rf"\b(?:curl|wget|http|fetch|nc|ncat)\b[^\n]{{0,120}}(?:\s(?:-d|--data[\w-]*|-f|--form|-t|--upload-file|--post-(?:data|file)|-x\s*post)\b|\bpost\b|<\s?\S)[^\n]{{0,120}}?(?!{_HOME})https?://(?!localhost|127\.)",
          "it sends data or traffic to an address"),
    _sign("sends", "proxy http https registry mirror bcc cc dns resolver index / set use point add switch change export configure replace override through via point", rf"\b(?:set|use|point|add|switch|change|export|configure|replace|override|route|keep)\b[^.\n]{{0,60}}?\b(?:https?_proxy|https?_proxy|proxy|registry|mirror|bcc|cc|dns(?:\s+server)?|resolver|index-url)\b[^.\n]{{0,40}}?(?:to|=|:|at|with|through|by|is)\s{{0,3}}[`\"'<(]{{0,2}}(?!{_HOME}){_ADDRESS}",
          "it sends data or traffic to an address"),
    _sign("loosens", f"{_LOOSENS} / {_CHECKS}", rf"\b{_LOOSEN}\s+(?:(?:the|all|any|every|this|our|its|your|both|these|strict|extra|usual|second|additional|manual|human|full)\s+){{0,3}}{_CHECK}\b",
          "it loosens a check"),
    _sign("loosens", "verify no insecure skip ssl tls strict allow force noverify unsafe dangerous privil chmod disable trust permit bypass ignore", r"(?:--no-verify\b|--insecure\b|--no-check-certificate\b|--skip-(?:verify|hooks?|signature)\b|--disable-(?:web-security|host-check|security|verif\w+|auth)\b|--privileged\b|--dangerously-[\w-]+|--trusted-host\b|--allow-unauthenticated\b|--nogpgcheck\b|--force-yes\b|--ignore-scripts=false|--yolo\b|--cap-add[= ]all\b|\bverify\s?=\s?(?:false|0)\b|\brejectunauthorized\s?:\s?false\b|insecureskipverify\s?[:=]\s?true|node_tls_reject_unauthorized\s?=\s?['\"]?0|pythonhttpsverify\s?=\s?0|sslverify\s?=?\s?false|stricthostkeychecking[\s=]+no\b|git_ssl_no_verify|\bchmod\s+(?:-r\s+)?(?:777|a\+rwx|o\+w)\b|\bcurl\s+(?:-\w+\s+){0,3}-\w{0,4}k\w{0,4}\b|setenforce\s+0|ufw\s+disable|spctl\s+--master-disable|set-executionpolicy\s+(?:bypass|unrestricted)|nopasswd:\s?all|husky=0|skip_\w*(?:check|verify|scan|auth)\w*=(?:1|true))",
          "it loosens a check"),
    _sign("loosens", "approve approv accept merge grant trust pay refund transfer release deploy auto always safe fine okay / auto automat without directly immediat always straight right once any every everyone all", r"\b(?:auto-?(?:approve|accept)\s+(?:all|any|every|them|it|these|requests?|changes?)|(?:approve|accept|merge|grant|trust|pay|refund|transfer|release|deploy)\s+(?:\w+\s+){0,5}?(?:without\s+(?:asking|review|approval|checking|verification|a\s+second|waiting|the\s+usual)|right\s+away|unconditionally|no\s+matter)|(?:safe|fine|ok|okay)\s+to\s+(?:skip|ignore|bypass|disable|approve\s+without))",
          "it loosens a check"),
    _sign("loosens", "make set open grant give expose share / public world everyone anyone admin root owner full write", r"\b(?:make|set|grant|give|expose|share|add)\b[^.\n]{0,60}?\b(?:publicly|public(?:-read(?:-write)?)?\s+(?:access|bucket|read|write)|world[\s-](?:readable|writable)|to\s+(?:everyone|anyone|allusers|the\s+public)|admin(?:istrator)?\s+(?:rights|role|access|privileges?)|root\s+access|full\s+(?:access|control)|owner\s+role|read[\s/-]?write\s+to\s+all|\"?\*\"?\s+permissions?)\b",
          "it loosens a check"),
    _sign("runs", "curl wget iwr irm fetch invoke / sh bash zsh python node iex perl ruby sudo source eval", r"\b(?:curl|wget|iwr|irm|invoke-webrequest|fetch)\b[^\n|;]{3,160}(?:\|\s{0,3}(?:sudo\s+)?(?:-\w+\s+)?(?:ba|z|da|k)?sh\b|\|\s{0,3}(?:sudo\s+)?(?:python3?|node|perl|ruby|iex)\b|&&\s{0,3}(?:sudo\s+)?(?:ba|z)?sh\b|;\s{0,3}(?:ba|z)?sh\b)|\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s?(?:curl|wget)|\b(?:source|eval|\.)\s+[\"']?(?:<\(|\$\()\s?(?:curl|wget)|\biex\s*\(",
          "it runs something from outside"),
    _sign("runs", "pip npm npx yarn pnpm gem cargo go brew uv docker helm kubectl git apt conda bunx pipx / http https git ssh index registry extra trusted tgz", r"\b(?:pip3?|uv(?:\s+pip)?|pipx|npm|pnpm|yarn|npx|bunx|gem|cargo|go|brew|conda|helm|kubectl|docker)\s+(?:install|add|get|i|run|exec|tap|apply|pull|create|dlx)\b[^\n`]{0,80}?(?:(?:--(?:extra-)?index-url|--registry|-i|--find-links|--source|-f|--from)[\s=]+(?:https?://(?!download\.pytorch\.org|(?:test\.)?pypi\.org|registry\.npmjs\.org|localhost|127\.))|(?:git\+)?https?://(?!(?:github|gitlab)\.com/[\w.-]+/[\w.-]+/releases|download\.pytorch\.org|(?:test\.)?pypi\.org|registry\.npmjs\.org|localhost|127\.)[^\s]{4,}|git\+ssh://)",
          "it installs something from outside"),
    _sign("runs", "download fetch get grab pull install clone / run execute launch install source load open import eval apply start unpack chmod", rf"\b(?:download|fetch|grab|pull|get|install|clone|load)(?:ing|s)?\b(?:[^.\n]|\.(?=\S)){{0,100}}?(?!{_HOME}){_ADDRESS}(?:[^.\n]|\.(?=\S)){{0,100}}?\b(?:and|then|,|&&)\s+(?:\w+\s+){{0,3}}?(?:run|execute|launch|install|source|load|open|import|eval|apply|start|unpack|chmod)\b",
          "it runs something from outside"),
    _sign("runs", "run execute install launch source use load add / script binary package installer helper plugin extension agent hook module tool snippet / from at hosted http https", rf"\b(?:run|execute|install|launch|source|load|use|add)\b(?:[^.\n]|\.(?=\S)){{0,60}}?\b(?:script|binary|package(?!\s+manager)|installer|helper|plugin|extension|agent|hook|module|tool|snippet|one-?liner|patch|wheel|image|action)\b(?:[^.\n]|\.(?=\S)){{0,50}}?\b(?:from|at|hosted\s+(?:on|at)|via)\s+[`\"'<(]{{0,2}}(?!{_HOME}){_ADDRESS}",
          "it installs or runs something from outside"),
    _sign("runs", "eval exec decode base64 atob b64decode", r"\b(?:eval|exec)\s*\(\s*(?:base64|atob|requests?\.get|fetch|urllib|open|zlib|bytes|compile|__import__)|\bbase64\s+(?:-d|--decode)\b[^\n]{0,40}\|\s{0,3}(?:ba|z)?sh\b",
          "it runs something that cannot be read"),
)  # fmt: skip
_FORBIDS = bounded(
    r"\b(?:never|no|without|do\s+not|don't|must\s+not|mustn't|cannot|can't|should\s+not|shouldn't|avoid\w*|not\s+to|forbid\w*|prohibit\w*|refuse\w*|reject\w*|block\w*|prevent\w*|against|instead\s+of|rather\s+than|no\s+longer|which|can|could|may|might|would|fails?\s+(?:if|when)|error\s+(?:if|when))\b[^.;:\n]{0,60}$",
    reach=200,
)


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """One finding per line and kind, at most twenty."""
    found: dict[tuple[int, str], Finding] = {}
    for sign in _SIGNS:
        if not lines.rows.have(sign.words):
            continue
        for start, end in _places(sign, lines):
            first, last = _in_original(lines, start, end)
            number = lines.number(first)
            found.setdefault((number, sign.kind), _finding(sign, first, last, number))
            if len(found) >= MAX_FINDINGS:
                return list(found.values())
    return list(found.values())


def _places(sign: _Sign, lines: Lines) -> Iterator[tuple[int, int]]:
    text = lines.normalised
    for start, end in lines.rows.near(sign.words):
        spend()
        for match in sign.pattern.finditer(text, start, end):
            if not _FORBIDS.search(text, max(0, match.start() - 80), match.start()):
                yield match.span()


def _in_original(lines: Lines, start: int, end: int) -> tuple[int, int]:
    offsets = lines.original_offsets
    return (start, end) if offsets is None else (offsets[start], offsets[end - 1] + 1)


def _finding(sign: _Sign, start: int, end: int, number: int) -> Finding:
    return Finding(CODE, "mid", start, end, number, f"Look closely: {sign.says}.", sign.kind)
