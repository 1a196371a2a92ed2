"""The signs of risky advice: stems that stand near each other, and the pattern of the sentence."""

from __future__ import annotations

from dataclasses import dataclass

from ..patterns import Bounded, Plain, bounded, plain
from ..stems import Group, opened

_REACH = 1_000


@dataclass(frozen=True)
class Sign:
    kind: str
    words: tuple[Group, ...]
    pattern: Bounded
    says: str
    is_order: bool
    """Whether the pattern begins with a verb that a noun before it would turn into a description."""
    opens: Group | None
    """The pattern begins with one of these words; nothing: it may begin anywhere."""
    needs: Plain | None
    """What every hit holds, quicker to look for than the hit itself."""
    beyond: int
    """How many characters further than the lines with its words a hit may go."""
    is_weak: bool
    """Long texts about programs say it as well: there the other words of its line have to agree."""


def sign(
    kind: str,
    words: str,
    pattern: str,
    says: str,
    is_order: bool = False,
    needs: Plain | None = None,
    beyond: int = 0,
    is_weak: bool = False,
) -> Sign:
    near, opens = opened(words)
    return Sign(kind, near, bounded(pattern, reach=_REACH), says, is_order, opens, needs, beyond, is_weak)


ADDRESS = (
    r"(?!\S{1,80}\s+(?:annotation|label|field)s?\b)(?:https?://|wss?://|ftp://|s3://|gs://|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[a-z]{2,}|\b\d{1,3}(?:\.\d{1,3}){3}\b|"
    r"(?<![\w./@-])(?!(?:socket|draw)\.io\b)(?:[a-z0-9-]{1,40}\.){1,4}(?:com|net|org|io|dev|app|co|ai|xyz|info|site|online|cloud|me|sh(?=/)|example|internal|test|biz|tech|top|ru|cn|cc|to|link|click|live|pro)\b(?!\())"
)
_HAS_ADDRESS = plain(
    r"[:@.](?:(?<=:)//|(?<=@)[\w-]|(?<=\.)(?:\d|com|net|org|io|dev|app|co|ai|xyz|info|site|online|cloud|me|sh|example|internal|test|biz|tech|top|ru|cn|cc|to|link|click|live|pro))"
)
_HAS_SWITCH = plain(
    r"[-fjkdup](?:(?<=--)|(?<=verif)y|(?<=rej)ect|(?<=hostk)ey|(?<=setenf)|(?<=sp)ctl|(?<=set-)exec|(?<=sk)ip_|(?<=chmod)|(?<=cu)rl|(?<=husk)y|(?<=uf)w|(?<=nop)ass)"
)
HOME = r"(?:https?://)?(?:localhost|127\.|0\.0\.0\.0|\[::1\]|(?:(?:www|proxy|auth|sso|idp|login)\.)?example\.(?:com|org|net)\b)"
AWAY = rf"(?!{HOME})https?://(?!\$|<|\{{|your|api\.example)"
_BODY = r"(?:(?:-d|--data[\w-]*|-f|--form|-t|--upload-file|--post-file|--body-file)[\s=]+\S{0,60}?(?:@|\$\(|`)|-t\s+[\w./~]|\$\(\s?(?:cat|env|printenv|base64|tar|history|hostname)\b|<\s?[\w./~]+\.\w|--post-file)"
_DATA = (
    r"(?:logs?|transcripts?|conversations?|chats?|messages?|records?|datas?(?:ets?|base)?|dumps?|backups?|exports?|reports?|results?|outputs?|payloads?|contents?|files?|documents?|"
    r"attachments?|invoices?|orders?|customers?|users?|contacts?|addresses|emails?|mails?|credentials?|tokens?|keys?|secrets?|passwords?|cookies?|sessions?|headers?|configs?|"
    r"configuration|environment|env(?:ironment)?\s+variables?|\.env|traces?|telemetry|diagnostics?|screenshots?|responses?|requests?|traffic|queries|history|notes|summar(?:y|ies)|details|copy|copies|everything)"
)
_SEND = (
    r"(?:send(?:ing|s)?|post(?:ing|s)?|upload(?:ing|s)?|forward(?:ing|s)?|mirror(?:ing|s)?|copy(?:ing)?|cc|bcc|e?mail(?:ing|s)?|sync(?:ing|s)?|replicat(?:e|ing|es)|stream(?:ing|s)?|ship(?:ping|s)?|"
    r"push(?:ing|es)?|report(?:ing|s)?|submit(?:ting|s)?|rout(?:e|ing|es)|prox(?:y|ying|ies)|redirect(?:ing|s)?|export(?:ing|s)?|back(?:ing)?\s+up|deliver(?:ing|s)?|relay(?:ing|s)?|publish(?:ing|es)?|paste|share|tunnel(?:ing|s)?)"
)
_SEND_NOW = (
    r"(?:send(?:ing)?|post(?:ing)?|upload(?:ing)?|forward(?:ing)?|mirror(?:ing)?|copy(?:ing)?|cc|bcc|e?mail(?:ing)?|sync(?:ing)?|replicat(?:e|ing)|stream(?:ing)?|ship(?:ping)?|"
    r"push(?:ing)?|report(?:ing)?|submit(?:ting)?|rout(?:e|ing)|prox(?:y|ying)|redirect(?:ing)?|export(?:ing)?|back(?:ing)?\s+up|deliver(?:ing)?|relay(?:ing)?|publish(?:ing)?|paste|share|tunnel(?:ing)?)"
)
_CHECK = (
    r"(?:(?:tls|ssl|certificate|cert|signature|checksum|hash|host\s?key|hostname|integrity|input|schema|csrf|cors|origin|permission|access|auth(?:entication|ori[sz]ation)?|mfa|2fa|two-factor|otp|captcha|"
    r"rate\s+limit(?:ing|s)?|virus|malware|security|safety|review|approval|sandbox|firewall|policy|secret\s+scann?ing|branch\s+protection|pre-?commit|audit|logging|fraud|kyc|identity)"
    r"(?:[\s/-]+(?:and[\s/-]+)?\w+){0,2}?[\s-]+(?:checks?|verification|validation|scan(?:s|ning)?|gates?|steps?|limits?|hooks?|protection|policies|controls?|filters?|logs?|requirements?|reviews?|approvals?|warnings?|guards?)|"
    r"(?:authentication|authori[sz]ation|approvals?|code\s+reviews?|sandbox(?:ing)?|selinux|apparmor|gatekeeper|(?:the\s+)?firewall|seccomp|2fa|mfa|audit\s+log(?:ging|s)?|rate\s+limit(?:ing|s)?|csrf|cors|tls|ssl|antivirus|defender|dependabot|branch\s+protection))"
)
_LOOSEN = (
    r"(?:disabl(?:e|ing)|turn(?:ing)?\s+off|switch(?:ing)?\s+off|skip(?:ping)?|by-?pass(?:ing)?|suppress(?:ing)?|ignor(?:e|ing)|omit(?:ting)?|drop(?:ping)?|remov(?:e|ing)|relax(?:ing)?|"
    r"loosen(?:ing)?|waiv(?:e|ing)|weaken(?:ing)?|comment(?:ing)?\s+out)"
)


_PRIVATE = (
    r"(?:credentials?|api\s+keys?|tokens?|passwords?|secrets?|\.env|ssh\s+keys?|private\s+keys?|emails?|contacts?|conversations?|transcripts?|chat\s+(?:logs?|history)|customers?(?:'s)?\s+\w+|users?'s\s+\w+|"
    r"personal\s+\w+|session\s+\w+|invoices?|documents?|files?|records?|inventory|database|dumps?|memory|notes|everything)"
)

_SENDS = "send post upload forward mirror copy copyin cc bcc email mail sync replic stream ship push report submit route routing proxy redirect export back backing deliver relay publish paste share tunnel"
_LOOSENS = (
    "disable turn switch skip bypass by suppress ignor omit drop remove relax loosen waive waiving weaken comment"
)
_CHECKS = (
    "tls ssl cert certif signat checks hash host integrity input schema csrf cors origin permis access auth authen author mfa 2fa two otp captcha rate virus malware security safety review approv "
    "confirm sandbox firewall policy lint type test secret branch pre audit logging limit fraud kyc identity verif valid selinux apparmor gatekeeper seccomp antivirus defender dependabot"
)
SIGNS: tuple[Sign, ...] = (
    sign("sends", f"^{_SENDS}", rf"\b{_SEND}\b(?:(?!\b(?:never|only|changed)\b)[^.\n]|\.(?=\S)){{0,120}}?\b{_DATA}\b(?:(?!\b(?:only|changed)\b)[^.\n]|\.(?=\S)){{0,100}}?\b(?:to|via|through)\b(?:[^.\n]|\.(?=\S)){{0,60}}?(?!{HOME}){ADDRESS}",
          "it sends data or traffic to an address", is_order=True, needs=_HAS_ADDRESS),
    sign("sends", f"^{_SENDS}", rf"\b{_SEND_NOW}\b\s+(?:\w+\s+){{0,4}}?(?:to|through|via)\s+(?:[`\"'<(]{{0,2}})(?!{HOME}){ADDRESS}(?:[^.\n]|\.(?=\S)){{0,100}}?\b{_DATA}\b",
          "it sends data or traffic to an address", is_order=True, needs=_HAS_ADDRESS),
    sign("sends", f"{_SENDS} sent forwarded mailed copied synced shipped routed", rf"\b{_DATA}\b[^.\n]{{0,40}}?\b(?:is|are|be|get|gets|being|goes?|been)\s+(?:\w+\s+){{0,2}}?(?:sent|posted|uploaded|forwarded|mirrored|copied|e?mailed|synced|replicated|streamed|shipped|pushed|submitted|routed|proxied|redirected|exported|backed\s+up|relayed|published|to)\s+(?:\w+\s+){{0,3}}?(?:to|at|via|through)?\s{{0,3}}[`\"'<(]{{0,2}}(?!{HOME}){ADDRESS}|\b(?:bcc|cc)\s+(?:\w+\s+){{0,3}}?[\w.+-]{{1,64}}@(?!example\.)[\w-]{{1,64}}\.[a-z]{{2,}}",
          "it sends data or traffic to an address", needs=_HAS_ADDRESS),
    sign("sends", "curl wget http nc ncat / http https", rf"\b(?:curl|wget|http|nc|ncat)\b(?:[^\n]{{0,160}}?{_BODY}[^\n]{{0,160}}?|[^\n]{{0,60}}?(?={AWAY}[^\n]{{0,160}}{_BODY})){AWAY}|\|\s{{0,3}}(?:curl|nc|ncat)\b[^\n]{{0,80}}?(?:@-|-\s?t\s+-|{AWAY}|\s\d{{2,5}}\b)",
          "it sends data or traffic to an address"),
    sign("sends", "add change configure export keep override point replace rout set switch use ^ proxy http https registry mirror bcc cc dns resolver index / set use point add switch change export configure replace override through via point", rf"\b(?:set|use|point|add|switch|change|export|configure|replace|override|route|keep)\b[^.\n]{{0,60}}?\b(?:https?_proxy|https?_proxy|proxy|registry|mirror|bcc|cc|dns(?:\s+server)?(?!\s+(?:cname|records?|txt|names?))\b|resolver|index-url)\b[^.\n]{{0,40}}?(?:to|=|:|at|with|through|by|is)\s{{0,3}}[`\"'<(]{{0,2}}(?!{HOME}){ADDRESS}",
          "it sends data or traffic to an address", needs=_HAS_ADDRESS),
    sign("loosens", f"^{_LOOSENS} / {_CHECKS}", rf"\b{_LOOSEN}\s+(?:(?:the|all|any|every|this|our|its|your|both|these|strict|extra|usual|second|additional|manual|human|full)\s+){{0,3}}{_CHECK}\b",
          "it loosens a check", is_order=True, is_weak=True),
    sign("loosens", "verify no insecure skip ssl tls strict allow force noverify unsafe dangerous privil chmod disable trust permit bypass ignore", r"(?:--no-verify\b|--insecure(?![\w-])|--no-check-certificate\b|--skip-(?:verify|hooks?|signature)\b|--disable-(?:web-security|host-check|security|verif\w+|auth)\b|--privileged\b|--dangerously-[\w-]+|--trusted-host\b|--nogpgcheck\b|--force-yes\b|--ignore-scripts=false|--yolo\b|--cap-add[= ]all\b|\bverify\s?=\s?(?:false|0)\b|\brejectunauthorized\s?:\s?false\b|insecureskipverify\s?[:=]\s?true|node_tls_reject_unauthorized\s?=\s?['\"]?0|pythonhttpsverify\s?=\s?0|sslverify\s?=?\s?false|stricthostkeychecking[\s=]+no\b|git_ssl_no_verify|\bchmod\s+(?:-r\s+)?(?:777|a\+rwx|o\+w)\b|\bcurl\s+(?:-\w+\s+){0,3}-\w{0,4}k\w{0,4}\b|setenforce\s+0|ufw\s+disable|spctl\s+--master-disable|set-executionpolicy\s+(?:bypass|unrestricted)(?!\s+-scope\s+process)|nopasswd:\s?all|husky=0|skip_(?!full_coverage|update|version)\w*(?:check|verify|scan|auth)\w*=(?:1|true))",
          "it loosens a check", needs=_HAS_SWITCH, is_weak=True),
    sign("loosens", "accept approve auto deploy fine grant merge ok okay pay refund release safe transfer trust ^ approve approv accept merge grant trust pay refund transfer release deploy auto always safe fine okay / auto automat without directly immediat always straight right once any every everyone all", r"\b(?:auto-?(?:approve|accept)\s+(?:all|any|every|them|it|these|requests?|changes?)|(?:approve|accept|merge|grant|trust|pay|refund|transfer|release|deploy)\s+(?:\w+\s+){0,5}?(?:without\s+(?:asking|review|approval|checking|verification|a\s+second|waiting|the\s+usual)|right\s+away|unconditionally|no\s+matter)|(?:safe|fine|ok|okay)\s+to\s+(?:approve\s+without|(?:skip|ignore|bypass|disable)\s+(?:\w+\s+){0,3}?(?:checks?|warnings?|alerts?|approvals?|reviews?|verification|validation|prompts?|tests?|scans?|hooks?|confirmations?)))",
          "it loosens a check"),
    sign("loosens", "add expose give grant make set share ^ make set open grant give expose share / public world everyone anyone admin root owner full write", r"\b(?:make|set|grant|give|expose|share|add)\b(?:(?!\b(?:prevent|block|deny|restrict|limit)\b)[^.,;|\n]){0,60}?\b(?:publicly\s+(?:readable|writable|accessible)|public(?:-read(?:-write)?)?\s+(?:access|bucket|read|write)|world[\s-](?:readable|writable)|to\s+(?:everyone|anyone|allusers|the\s+public)|admin(?:istrator)?\s+(?:rights|role|access|privileges?)|root\s+access|full\s+(?:access|control)|owner\s+role|read[\s/-]?write\s+to\s+all|\"?\*\"?\s+permissions?)\b",
          "it loosens a check", is_order=True),
    sign("runs", "curl wget iwr irm fetch invoke / sh bash zsh python node iex perl ruby sudo source eval", r"\b(?:curl|wget|iwr|irm|invoke-webrequest|fetch)\b(?![^\n|;]{0,60}(?:localhost|127\.|0\.0\.0\.0))[^\n|;]{3,160}(?:\|\s{0,3}(?:sudo\s+)?(?:-\w+\s+)?(?:ba|z|da|k)?sh\b|\|\s{0,3}(?:sudo\s+)?(?:python3?|node|perl|ruby|iex)\b(?!\s+-[cmepr])|&&\s{0,3}(?:sudo\s+)?(?:ba|z)?sh\b|;\s{0,3}(?:ba|z)?sh\b)|\b(?:ba|z)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s?(?:curl|wget)|\b(?:source|eval|\.)\s+[\"']?(?:<\(|\$\()\s?(?:curl|wget)|\biex\s*\(",
          "it runs something from outside"),
    sign("runs", "^pip npm npx yarn pnpm gem cargo go brew uv docker helm kubectl git apt conda bunx pipx / http https git ssh index registry extra trusted tgz", r"\b(?:pip3?|uv(?:\s+pip)?|pipx|npm|pnpm|yarn|npx|bunx|gem|cargo|go|brew|conda|helm|kubectl|docker)\s+(?:install|add|get|i|exec|tap|apply|pull|create|dlx|(?<=go\s)run|(?<=npx\s)run)\b[^\n`]{0,80}?(?:(?:--(?:extra-)?index-url|--registry|-i|--find-links|--source|-f|--from)[\s=]+(?:https?://(?!download\.pytorch\.org|(?:test\.)?pypi\.org|registry\.npmjs\.org|localhost|127\.))|(?:git\+)?https?://(?!(?:github|gitlab)\.com/[\w.-]+/[\w.-]+/releases|download\.pytorch\.org|(?:test\.)?pypi\.org|registry\.npmjs\.org|localhost|127\.)[^\s]{4,}|git\+ssh://)",
          "it installs something from outside"),
    sign("runs", "clone download fetch get geti gets grab install load pull ^ download fetch get grab pull install clone / run execute launch install source load open import eval apply start unpack chmod", rf"\b(?:download|fetch|grab|pull|get|install|clone|load)(?:ing|s)?\b(?:[^.\n]|\.(?=\S)){{0,100}}?(?!{HOME}){ADDRESS}(?:[^.\n]|\.(?=\S)){{0,100}}?\b(?:and|then|,|&&)\s+(?:\w+\s+){{0,3}}?(?:run|execute|launch|install|source|load|open|import|eval|apply|start|unpack|chmod)\b",
          "it runs something from outside"),
    sign("runs", "^run execute install launch source use load add / script binary package installer helper plugin extension agent hook module tool snippet / from at hosted http https", rf"\b(?:run|execute|install|launch|source|load|use|add)\b(?:[^.\n]|\.(?=\S)){{0,60}}?\b(?:script|binary|package(?!\s+manager)|installer|helper|plugin|extension|agent|hook|module|tool|snippet|one-?liner|patch|wheel|image|action)\b(?:[^.\n]|\.(?=\S)){{0,50}}?\b(?:from|at|hosted\s+(?:on|at)|via)\s+[`\"'<(]{{0,2}}(?!{HOME}){ADDRESS}",
          "it installs or runs something from outside"),
    sign("runs", "^eval exec decode base64 atob b64decode", r"\b(?:eval|exec)\s*\(\s*(?:base64|atob|requests?\.get|fetch|urllib|open|zlib|bytes|compile|__import__)|\bbase64\s+(?:-d|--decode)\b[^\n]{0,40}\|\s{0,3}(?:ba|z)?sh\b",
          "it runs something that cannot be read"),
    sign("sends", f"^{_SENDS} / server service endpoint system webhook cloud collector portal address inbox account channel bucket drive", rf"\b{_SEND_NOW}\b(?!\s+to\b)[^.;|\n]{{0,40}}?\b{_PRIVATE}\b[^.;|\n]{{0,60}}?\b(?:to|with|into|through|via)\s+(?:our|the|a|an|their|my|this|that|its)?\s{{0,2}}(?:\w+\s+)?(?:central|remote|external|cloud|backup|verification|analytics|collection|monitoring|audit|partner|vendor|third-party|off-?site|outside|personal|shared)\s+(?:\w+\s+)?(?:server|service|endpoint|system|webhook|api|cloud|collector|portal|address|inbox|account|channel|bucket|drive)\b",
          "it sends data to somewhere outside"),
    sign("sends", "call crea do ensu exec keep make perf run ^ backup back sync upload mirror synced save copy / server cloud system drive", r"\b(?:make|create|keep|do|perform|run|ensure)\b[^.;|\n]{0,80}?\b(?:backup|synced|sync|mirrored|copy|upload)\b[^.;|\n]{0,40}?\b(?:to|with|on)\s+(?:our|the|a|an)\s+(?:central|remote|external|cloud|off-?site|backup)\s?(?:server|cloud|system|storage|drive)?\b(?:[^.;|\n]|\.(?=\S)){0,80}?\b(?:calling|running|executing|script|\w+\.(?:py|sh|js))\b|\b(?:run|execute|call)\b[^.;|\n]{0,20}?\w\.(?:py|sh|js)\b(?:[^.;|\n]|\.(?=\S)){0,120}?\b(?:synced|sync(?:hroni[sz]ed)?|backed\s+up|uploaded|mirrored)\s+(?:with|to)\s+(?:our|the|a|an)\s+(?:cloud|central|remote|external|backup)\b",
          "it sends data to somewhere outside"),
    sign("asks", "ask request prompt require provide share enter give tell confirm collect verify / passw credent token api secret pin otp login key keys card social", r"\b(?:ask|request(?!\s+(?:with|body|is|to))|prompt|require|tell|instruct|get|have)\b[^.;:|`\n]{0,40}?\b(?:users?|customers?|them|members?|clients?(?!\s+(?:credentials?|id|secret))|callers?|employees?|their|person|people)\b(?:(?!\b(?:rather|instead|placeholder|without|never|not|no)\b)[^.;|\n]){0,50}?\b(?:passwords?|credentials?|one-time\s+codes?|otps?|pins?|card\s+numbers?|social\s+security|recovery\s+(?:codes?|phrases?)|private\s+keys?|login\s+details)\b|(?:^|[.!?:\n]\s*|\d[.)]\s+|[-*]\s+|\bplease\s+|\bmust\s+|\bimmediately\s+)(?:provide|share|enter(?!\s+your\s+current)|give|confirm|send)\s+(?:us\s+|me\s+)?(?:your|their|the\s+user's|all)\s+(?:\w+\s+){0,2}(?:passwords?|credentials?|otps?|pins?|private\s+keys?|recovery\s+phrase|card\s+number)\b(?!\s+when\s+prompted)(?!\s+(?:in|to|into|at|from|via|as)\s+(?:the\s+)?(?:field|box|input|text|\.env|env|config|vault|secret|dashboard|settings|login|form))",
          "it asks somebody for credentials"),
    sign("runs", "call check cons cont download fetch load ping poll pull query re read receive rere retriev sync visi ^ fetch download load pull get check sync retriev poll receive read query / instruct direct rules command config manif payload order guidance behav playbook update", rf"\b(?:fetch|download|load|pull|check|sync|retrieve|poll|receive|read|consult|query|re-?read)(?:ing)?\b(?:(?!\b(?:never|docs?|documentation|example)\b)(?:[^.;|\n]|\.(?=\S))){{0,60}}?\b(?:instructions?|directives?|commands?|orders|playbooks?|behaviou?rs?|(?:agent|remote|latest|new|updated)\s+(?:rules|guidance|polic(?:y|ies)|updates?)|config(?:uration)?|settings|prompts?|manifests?|payloads?)\b(?:[^.;|\n]|\.(?=\S)){{0,40}}?\b(?:from|at|via|on)\s+(?:[`\"'<(]{{0,2}}{AWAY}|(?:a|the|our)\s+(?:remote|external|central)\s+(?:server|endpoint|host|service|url)\b)|\b(?:check|consult|visit|query|poll|call|fetch|contact|ping)\s+[`\"'<(]{{0,2}}{AWAY}[^\s|]{{1,120}}\s+(?:\w+\s+){{0,4}}?(?:before|prior\s+to|and\s+(?:follow|apply|obey|execute|run|do)|for\s+(?:new\s+|the\s+latest\s+|updated\s+)?(?:instructions?|directives?|commands?|orders|tasks|rules))\b",
          "it takes orders from outside"),
    sign("runs", "eval execut follow obey run ^ execut run apply follow obey / received returned respon remote fetched downloaded server payload", r"\b(?:execute|run|obey|follow|eval(?:uate)?)\b[^.;|\n]{0,40}?\b(?:commands?|instructions?|directives?|scripts?|code|payloads?|steps?)\b[^.;|\n]{0,30}?\b(?:(?:received|returned|fetched|downloaded|sent|given|provided|supplied)\s+(?:from|by|in)\s+(?:the|a|an|this|that|our)\s+(?:\w+\s+)?(?:server|endpoint|response|remote|service|url|page|api|host|email|mail|document|site)|from\s+(?:the|a|our)\s+(?:remote|external|c2|command))\b",
          "it takes orders from outside"),
    sign("steers", "add all append attach close each end endi ends ever finish if include insert link mention place put when your ^ append include add insert mention end finish place put attach close recommend direct send point refer give offer / response reply repli answer summar message email output discuss asked user report", rf"\b(?:append|include|add|insert|mention|put|place|attach|link|close\s+with|end(?:s|ing)?\s+with|finish\s+with)\b(?:[^;|\n]){{0,60}}?(?:{AWAY}|\bvisit\s+\S{{1,60}}\.\w|(?:verify|details|more|log\s?in|sign\s?in|pay)\s+at\s+\S{{1,60}}\.\w)(?:[^;|\n]){{0,80}}?\b(?:(?:all|every|each|any|your|to\s+the)\s+(?:\w+\s+)?(?:responses?|repl(?:y|ies)|answers?|summar(?:y|ies)|messages?|outputs?|users?|customers?)|when(?:ever)?\s+(?:discussing|asked|the\s+user|users?|somebody|someone|a\s+customer|customers|talking))|\b(?:all|every|each|your)\s+(?:\w+\s+)?(?:responses?|repl(?:y|ies)|answers?|summar(?:y|ies)|messages?|outputs?|emails?)\b[^.;|\n]{{0,40}}?\b(?:ends?|close|finish|include|contain|start|begin)\b(?:[^;|\n]){{0,50}}?(?:{AWAY}|\b(?:visit|at)\s+\S{{1,60}}\.\w)|\b(?:when|if|whenever)\b[^.;|\n]{{0,60}}?\b(?:asks?|asked|discuss\w*|mentions?|needs?)\b[^.;|\n]{{0,60}}?,?\s(?:always\s+)?(?:append|include|add|insert|mention|direct|send|point|refer|give|offer|recommend)\b(?:[^;|\n]){{0,60}}?{AWAY}",
          "it puts an address into answers"),
    sign("steers", "always choose exclus is never only override pick prefer promote recommend ^ recommend suggest promote show pick choose prefer trust mention override / never only always regardless exclus / product provider vendor brand supplier competit altern compan partner list any option", r"\bnever\s+(?:recommend|suggest|mention|show|offer|propose)\s+(?:any\s+)?(?:other|alternatives?|competitors?|competing)\b|\bonly\s+(?:ever\s+)?(?:recommend|suggest|show|trust|offer|propose|promote)\s+(?:\w+\s+){0,3}?(?:products?|providers?|vendors?|brands?|suppliers?|services?|from)\b|\b(?:always|exclusively)\s+(?:recommend|suggest|promote|pick|choose|select|favou?r|rank|list)\s+(?:\w+\s+){0,4}?(?:products?|vendors?|brands?|suppliers?|partner|first\s+(?:item|option|result)|over\s+(?:its\s+)?(?:competitors?|alternatives?)|regardless)\b|\b(?:recommend|promote|prefer|choose|pick)\w*\b[^.;|\n]{0,60}?\bregardless\s+of\s+(?:the\s+)?(?:price|rating|reviews?|quality|cost|what)\b|\boverride\s+(?:the\s+)?(?:rating|rank|score|price)[\w-]*\s+(?:based\s+)?(?:selection|order\w*|rank\w*)|\balways\s+filter\b[^.;|\n]{0,30}?\bto\s+only\s+show\b|\bis\s+the\s+only\s+(?:approved|trusted|authori[sz]ed|acceptable)\s+(?:\w+\s+)?(?:provider|vendor|supplier|brand|partner)\b",
          "it steers recommendations to somebody's gain"),
    sign("steers", "alwa if when ^ when whenev if / asked asks question / respond say answer state claim confirm mention reply tell assure / current complian approved passed certif safe secure grant finalized no clean", r"\b(?:when(?:ever)?|if)\s+(?:\w+\s+){0,4}?(?:asked|asks?|questioned)\b[^.;|\n]{0,120}?\b(?:respond|say|answer|state|claim|confirm|reply|tell\s+\w+|assure\s+\w+)\s+(?:that\s+)?[^.;|\n]{0,60}?\b(?:is\s+current|(?:is|are)\s+(?:fully\s+)?(?:compliant|approved|certified|safe|secure|clean)|passed|access\s+should\s+be\s+granted|no\s+(?:known\s+)?(?:issues|vulnerabilities|incidents|risks?))\b|\balways\s+(?:mention|state|say|claim|confirm)\s+(?:this|that|it)\s+when\s+asked\b",
          "it dictates what is said of a state of things"),
    sign("steers", "^access treat supersed override replac / should note entry memory messag record documen all any authorit", r"\baccess\s+should\s+be\s+granted\b|\btreat\s+this\s+(?:note|entry|memory|message|record|document)\s+as\s+(?:the\s+)?(?:authoritative|final|official|canonical)\b|\b(?:supersedes?|overrides?|replaces?)\s+(?:and\s+corrects?\s+)?(?:all|any)\s+(?:prior|previous|earlier|other)\s+(?:\w+\s+)?(?:records?|notes?|memor(?:y|ies)|facts?|entries|findings)\b",
          "it claims to stand above other memory"),
    sign("sends", f"^{_SENDS} / it them this everythi each all", rf"\b{_SEND_NOW}\s+(?:a\s+copy\s+of\s+)?(?:it|them|this|everything|each\s+(?:of\s+them|one)|all\s+of\s+(?:it|them|this))\b[^;|\n]{{0,30}}?\bto\b[^;|\n]{{0,90}}?(?:(?<![\w.+-])[\w.+-]{{1,64}}@(?!example\.|company\.|domain\.)[\w-]{{1,64}}\.[a-z]{{2,}}|{AWAY})",
          "it sends data or traffic to an address", is_order=True),
    sign("sends", "^after always whenev before every once make / curl wget request http fetch", rf"\b(?:after\s+(?:\w+ing\s+)?(?:any|each|every)|always|whenever|before\s+(?:any|each|every)|every\s+(?:time|session|task|minute|hour|day)|once\s+(?:done|finished|complete)|make\s+sure\s+to)\b(?:[^.\n]|\.(?=\S)){{0,240}}?\b(?:(?:curl|wget)\b[^\n`]{{0,60}}|(?:requests|httpx|axios)\.(?:get|post|put)\(\s?[`'\"]|fetch\(\s?[`'\"])\s{{0,2}}{AWAY}",
          "it has every task call an address"),
    sign("loosens", "avoi chec flag gate get gets keep label make mark report skip stamp test valid verified ^ mark stamp set report flag label / successful success valid approved final passed sanitiz verified safe ready complian green ok", r"\b(?:mark|stamp|label|flag|report)(?:ed|ing)?\s+(?:\w+\s+){1,4}?as\s+(?:\w+\s+)?(?:successful|validated|approved|final|passed|passing|saniti[sz]ed|verified|compliant|safe|ready\s+for\s+sign-?off|signed\s+off)\b(?![^.;|\n]{0,40}\b(?:after|once|when|if|until|only|by)\b)|\b(?:keeps?|keeping|get|gets|make|makes)\s+(?:the\s+)?(?:pipelines?|builds?|ci|tests?|checks?)\s+(?:stay\s+)?green\b[^.;|\n]{0,40}?\b(?:without|by\s+(?:skip|disabl|delet|comment|mock)\w+)\b|\b(?:checks?|validat\w+|tests?|verif\w+|gates?)\s+(?:to\s+)?always\s+(?:pass|succeed|return(?:s)?\s+true)\b|\bvalidate\s?=\s?lambda\b[^\n]{0,20}\btrue\b|\bskip_\w{2,20}\s?=\s?(?:1|true)\b[^.;|\n]{0,20}\bto\s+(?:bypass|skip|avoid)\b|\b(?:avoid|skip)\s+(?:recomputing\s+or\s+)?(?:re-?)?validating\b",
          "it passes something off as checked"),
    sign("loosens", "grant assign attach bind give use add run set make request / cluster administ root sudo sudoers admin privil superuser wheel owner wildcard", r"\b(?:grant|assign|attach|bind|give|add|use)\b[^.;|\n]{0,60}?\b(?:cluster-?admin|administratoraccess|superuser\s+(?:role|account|token)|admin(?:istrator)?\s+(?:token|credentials?|account|key)|(?<!non-)root\s+(?:token|account|credentials?|user)|the\s+sudoers?(?:\s+file)?|(?:sudo|wheel|docker)\s+group|wildcard\s+permissions?)\b|\b(?:allowprivilegeescalation|privileged)\s?:\s?true\b|(?:\b(?:edit|add|append|echo|tee|visudo)\b|>>)[^\n]{0,60}/etc/sudoers\b|\busermod\s+-ag\s+(?:sudo|docker|wheel)\b|\b(?:always|simply|just)\s+(?:run|execute|start|work)\b[^.;|\n]{0,40}?\b(?:as\s+root|with\s+sudo|as\s+(?:the\s+)?admin(?:istrator)?)\b",
          "it hands out rights", is_order=True),
    sign("falsifies", "add adju assign boost conc give hide ignore increase inflate leav lower mult omit pad rais reco report return round supp ^ score metric result rating grade evaluat report number figures test tests failure / add inflate increase boost round lower return give assign appear look ignore hide omit high perfect", r"\b(?:add|inflate|increase|boost|raise|round\s+up|adjust|lower(?!\s+(?:numbers|values|scores?)\s+(?:appear|rank|mean))|multiply|pad)\b[^.;|\n]{0,40}?\b(?:scores?|metrics?|ratings?|results?|numbers|figures|grades?|benchmarks?)\b[^.;|\n]{0,40}?\b(?:appears?|looks?|seems?|competitive|impress\w*|favou?rabl\w*)\b|\b(?<!should\s)(?:return|give|assign|report|record)\s+(?:a|an|the)?\s?(?:high|perfect|full|maximum|passing|positive)\s+(?:score|rating|mark|grade|review)s?\b|\b(?:ignore|hide|omit|leave\s+out|suppress|conceal)\s+(?:all\s+|any\s+|the\s+)?(?:failure\s+modes|failures|failed\s+(?:tests|runs|cases)|bad\s+results|negative\s+(?:results|feedback|reviews)|incidents?|outages?)\b",
          "it makes results look better than they are", is_order=True),
    sign("destroys", "after always every make once upon whenev ^ after before whenev always once every each finish make sure / force reset rm delete remove truncat drop cancel purge wipe clean", r"\b(?:after|whenever|always|once|every\s+time|make\s+sure|upon)\b(?:[^.;|\n]|\.(?=\S)){0,140}?(?:\bpush\s+(?:--force\b(?!-with)|-f\b)|\breset\s+--hard\b|\brm\s+-(?:rf|fr)\s+(?:~|/|\.\.|\*|\$home)|\bclean\s+-[a-z]*f[a-z]*d\b|\b(?:delete|remove|purge|wipe|cancel)\s+(?:all|every|the\s+original)\s+(?!temp|tmp|generated|build|cache|test)(?:\w+\s+){0,2}?(?:files?|emails?|messages?|records?|backups?|logs?|branches|users?|accounts?|occurrences|events?|history)\b|\b(?:drop|truncate)\s+the\s+(?:table|database)\b)",
          "it deletes or overwrites, again and again"),
    sign("loosens", "allo ask gran requ set use ^ widest broadest maximum unlimited never all any wildcard / scope permis redirect token expir access origin", r"\b(?:use|request|set|grant|allow|ask\s+for)\b[^.;|\n]{0,50}?\b(?:(?:the\s+)?(?:widest|broadest|maximum|highest)\s+(?:possible\s+)?(?:scopes?|permissions?|access|privileges?)|allow\s+all\s+(?:redirect|origins?)|non-expiring\s+tokens?|tokens?\s+that\s+never\s+expire)\b",
          "it loosens a check"),
)  # fmt: skip
