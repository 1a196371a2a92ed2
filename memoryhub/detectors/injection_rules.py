"""The sentences that give an injection away, by kind: needles, pattern (on folded text) and what to tell the reviewer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .finding import Severity
from .scanning import Group, groups


@dataclass(frozen=True)
class Rule:
    kind: str
    severity: Severity
    groups: tuple[Group, ...]
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    says: str
    opens: Group | None
    """The pattern begins with one of these words; nothing: it may begin anywhere."""


def _rule(kind: str, severity: Severity, words: str, pattern: str, says: str) -> Rule:
    """`words`: of each group (between slashes) one must stand near. Before a `^` stand the words that the pattern begins with;
    a leading `^` says that these are the first group. A leading `=` gives literal needles instead."""
    if words.startswith("="):
        return Rule(kind, severity, (), tuple(words[1:].split("¦")), re.compile(pattern), says, None)
    first, mark, near = words.rpartition("^")
    opens = groups(first or near)[0] if mark else None
    return Rule(kind, severity, groups(near), (), re.compile(pattern), says, opens)


_GAP = r"[^.\n]{0,40}?"
_WIDE = r"(?:[^.\n]|\.(?=\S)){0,120}?"
_NEAR = r"(?:[^.\n]|\.(?=\S)){0,80}?"
_BEFORE = r"(?:previous|prior|above|preceding|earlier|foregoing|existing|original|initial|other|current|system|developer|past|last)"
_ORDERS = r"(?:instruction|direction|directive|rule|prompt|guideline|command|order|polic(?:y|ie)|constraint|restriction|message|context|training|programming|text|input|assignment|task|conversation|safeguard)s?"
_DROP = r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|overrul(?:e|ing)|bypass(?:ing)?|neglect|discard(?:ing)?|drop|cancel|supersedes?|void|nullify|set\s+aside|pay\s+no\s+attention\s+to|do\s+not\s+(?:follow|obey))"
_LOOT = (
    r"(?:api[\s_-]?keys?|credentials?|secrets?\b|tokens?\b|passwords?|env(?:ironment)?[\s_-]?(?:variables?|vars?|file)|\.env\b|ssh\s+keys?|private\s+keys?|id_rsa|"
    r"(?:chat|conversation|message|session)\s+(?:history|logs?|transcripts?|contents?)|(?:whole|entire|full)\s+(?:conversation|chat|memory)|system\s+prompt|"
    r"(?:customer|user|personal|private|confidential|sensitive|internal)(?:'s)?\s+(?:data|information|details|emails?|records?|files?|documents?|messages?|notes)|"
    r"memory\s+(?:file|content)s?|everything\s+(?:you|the\s+user)|cookies|wallet|aws_\w+|/etc/passwd|~/\.(?:ssh|aws|config)|what\s+the\s+user\s+(?:says|types|wrote))"
)
# A call that only shows who is calling (`-u`, an Authorization header) sends nothing away; one that sends a file does.
_CURL = r"curl(?!(?![^\n]*\s(?:-d|--data\S*|-f|--form|-t|--upload-file)\s+\S*[@$])[^\n]{0,60}\s(?:(?:-h|--header)\s+\W?authorization|-u\s|--user\s))"
_SEND = rf"(?:send|post|upload|forward|transmit|exfiltrate|e?mail|submit|leak|copy|relay|ship|deliver|push|bcc|cc|append|embed|encode|include|report|share|dump|pipe|{_CURL}|pass|smuggle)"
_AWAY = r"(?:(?<!\]\()https?://|ftp://|to\s+(?:this|the|an?|our|my|that)\s+(?:\w+\s+){0,2}(?:url|endpoint|webhook|server|address|e?mail|domain|site|channel|host|listener)|[\w.+-]+@[\w-]+\.\w+|(?:as|in)\s+(?:an?|the)\s+(?:\w+\s+)?(?:quer(?:y|ies)|url|image|link|parameter|dns)|\w+\.(?:evil|attacker)\b|(?:evil|attacker|exfil)[\w-]*\.\w+|pastebin|webhook\.site|requestbin|ngrok|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})"
_PERSON = r"(?:the\s+|any\s+|your\s+|our\s+)?(?:users?|humans?|people|anyone|anybody|operators?|owners?|reviewers?|developers?|admins?|administrators?|them)"

# Programs and browsers have a developer mode of their own.
_NO_SWITCH = (
    r"(?![^\n]{0,60}(?:chrome|extension|setting|android|iphone|device|discord|toggle|windows|browser|simulator))"
)

RULES: tuple[Rule, ...] = (
    _rule("override", "high", "^ignore disregard forget overrid overrul bypass neglect discard drop cancel supersede void nullify set pay not do / previous prior above preceding earlier foregoing existing original initial other current system developer past last / instruct direct rule prompt guideline command order policy polic constraint restrict message context training program text input assign task convers safeguard",
          rf"\b{_DROP}\s+(?:(?:about|all|any|every|everything|each|of|the|your|these|those|my|our|that|this|whatever|most|and)\s+){{0,4}}(?:{_BEFORE}(?:\s+(?:and|or|system|developer))?\s+){{1,3}}(?:\w+\s+)?{_ORDERS}\b",
          "it tells the model to drop the instructions it was given."),
    _rule("override", "high", "ignore disregard forget overrid discard pay not void drop cancel neglect bypass / your my our / instruct direct rule prompt guideline command order policy polic constraint restrict message context training program text input assign task convers safeguard",
          rf"\b{_DROP}\s+(?:(?:all|any|every|of|the)\s+){{0,3}}(?:your|my|our)\s+(?:\w+\s+){{0,2}}{_ORDERS}\b",
          "it tells the model to drop the instructions it was given."),
    _rule("override", "high", "^ignore disregard forget / all everything anything what / of that the you we they was were is has have been had said told before above prior previous written came comes know learn wrote else instruct rule",
          r"\b(?:ignore|disregard|forget)\s+(?:all|everything|anything|what(?:ever)?)\s+(?:(?:of|that|the|you|i|we|they|was|were|is|has|have|been|had|said|told|before|above|prior|previous\w*|written|came|comes|know|learned|wrote|else|previously|instructions?|rules?)\b[\s,]*){1,6}",
          "it tells the model to drop what came before."),
    _rule("override", "high", "^instruct direct rule prompt guideline command order policy polic constraint restrict message context training program text input assign task convers safeguard / above before earlier previously given that / ignore disregard forget void invalid cancel no",
          rf"\b{_ORDERS}\s+(?:above|before|earlier|previously\s+given|given\s+(?:above|earlier|before|so\s+far)|that\s+came\s+before)\b{_GAP}\b(?:ignore|disregard|forget|void|invalid|cancell?ed|no\s+longer)",
          "it declares earlier instructions void."),
    _rule("override", "high", "^ignore disregard forget discard / above before given you got earlier",
          rf"\b(?:ignore|disregard|forget|discard)\s+(?:all\s+(?:of\s+)?)?(?:the\s+)?(?:above|instructions?\s+(?:above|before|given)|{_ORDERS}\s+(?:you\s+(?:were|have\s+been|got)|above|before|earlier))",
          "it tells the model to drop what came before."),
    _rule("override", "high", "new updated real actual revised true / instruct direct order task objective system mission",
          r"(?:^|[.!?:\n*#\]>]\s*)(?:(?:here\s+(?:are|is)|these\s+are|this\s+is|your|the)\s+)?(?:your\s+|the\s+|my\s+)?(?:new|updated|real|actual|revised|true)\s+(?:system\s+)?(?:instructions?|directives?|orders?|task|objective|system\s+prompt|mission)\s*(?::|(?:is|are)\s+(?:to|as\s+follows|now))",
          "it announces new instructions, as if memory could give any."),
    _rule("override", "high", "you the ^ you assistant agent model / longer bound subject free freed released",
          r"\b(?:you|the\s+(?:assistant|agent|model|ai))\s+(?:are|is)\s+(?:no\s+longer\s+(?:bound|required|limited|restricted|subject|constrained|an?\s|the\s)|not\s+bound\s+by|not\s+subject\s+to|(?:now\s+)?free(?:d)?\s+(?:from|of)|released\s+from)",
          "it tells the model that its rules no longer hold."),
    _rule("override", "high", "^overrid supersede replac outrank preced priority take / previous prior earlier above safety system security ethical / instruct direct rule prompt guideline command order policy polic constraint restrict message context training program text input assign task convers safeguard",
          rf"\b(?:overrides?|supersedes?|replaces?|outranks?|takes?\s+(?:precedence|priority)\s+over)\s+(?:all\s+|any\s+|every\s+)?(?:(?:of\s+)?(?:the|your)\s+)?(?:other\s+|your\s+|the\s+)?(?:previous|prior|earlier|above|safety|system|security|ethical)\s+(?:\w+\s+)?{_ORDERS}",
          "it claims to stand above the system prompt."),
    _rule("role", "high", "^you / now",
          r"\b(?:you\s+are\s+now|you're\s+now)\s+(?:going\s+to\s+(?:act|pretend|be|answer|respond|play|simulate)|(?:an?\s+|the\s+|in\s+|acting|playing|operating\s+(?:in|as|under)|free\b|unrestricted|dan\b|jailbroken|known\s+as|called|named|speaking|my\b)(?!\s*(?:branch|directory|folder|repo|position|ready)))",
          "it gives the model another identity."),
    _rule("role", "high", "^act behave respond answer speak operate function / as like / if unrestrict uncensor unfilter evil amoral jail dan hack malicious different another ai linux my",
          r"\b(?:act|behave|respond|answer|speak|operate|function)\s+(?:as|like)\s+(?:if\s+(?:you|there)\s+(?:are|were|had|have|is)\b|(?:an?\s+|the\s+)?(?:unrestricted|uncensored|unfiltered|evil|amoral|jailbroken|dan\b|hacker|malicious|different\s+(?:ai|model|assistant)|another\s+(?:ai|model|assistant)|ai\s+(?:without|with\s+no|that\s+(?:has\s+no|can|does\s+not))|linux\s+terminal|my\s+(?:late|deceased|grand\w+)))",
          "it gives the model another identity."),
    _rule("role", "high", "pretend imagine let i you ^ pretend imagine let want will must should are / to that you there role pretend simulate impersonate act play",
          r"\b(?:pretend|imagine)\s+(?:that\s+)?(?:to\s+be|you(?:'re|\s+are|\s+were|\s+have|\s+can)|there\s+(?:are|is)\s+no)\b|\b(?:let's|let\s+us|i\s+want\s+you\s+to|you\s+(?:will|must|should|are\s+(?:going\s+)?to))\s+(?:role[\s-]?play|pretend|simulate|impersonate|act\s+as|play\s+(?:the\s+)?(?:role|part|a\s+game))",
          "it gives the model another identity."),
    _rule("role", "high", "^from starting henceforth hereafter / now this henceforth hereafter / you your act answer respond reply always never the ignore disregard treat assume obey every",
          r"\b(?:from\s+(?:now|this\s+(?:point|moment|day|message))\s+(?:on(?:wards?)?|forward)|starting\s+(?:right\s+)?now|henceforth|hereafter)\b,?\s+(?:\w+\s+){0,3}?(?:you\b|your\b|act\b|answer\b|respond\b|reply\b|always\b|never\b|the\s+(?:assistant|agent|model|ai)\b|ignore|disregard|treat|assume|obey|every\s+(?:answer|response|reply))",
          "it gives standing orders to the model, which only people may."),
    _rule("jailbreak", "high", "do enter enable activate engage switch you now turn unlock simulate developer god dan jailbreak admin root debug maintenance override unrestricted uncensored unfiltered amoral ^ anything mode unrestricted uncensored unfiltered amoral jailbreak jailbroken",
          r"\b(?:do\s+anything\s+now|(?:enter|enable(?:d)?|activate|engage|switch\s+to|you\s+are\s+in|now\s+in|turn\s+on|unlock(?:ed)?|simulate)\s+(?:\w+\s+){0,3}(?:developer|god|dan|sudo|unrestricted|jailbreak|evil|override)[\s-]mode" + _NO_SWITCH + r"|(?:developer|god|dan|jailbreak|override)[\s-]mode\s+(?:is\s+)?(?:enabled|activated|active|on\b|engaged|unlocked)" + _NO_SWITCH + r"|you\s+are\s+(?:jailbroken|unrestricted|uncensored|unfiltered)|(?:uncensored|unfiltered|amoral)\s+(?:ai|assistant|model|chatbot|language\s+model|responses?|answers?|content)|unrestricted\s+(?:ai|assistant|chatbot|language\s+model|responses?|answers?)|jailbreak\s+prompt)",
          "it asks for a mode without rules."),
    _rule("jailbreak", "high", "without has have with free lacks lacking there not ignore no ^ without no with free lack lacks lacking not ignores ignoring / ethic moral censor safety content legal openai anthropic ai / guideline limit constraint restrict filter polic guardrail boundar standard principle consider concern",
          r"\b(?:without|has\s+no|have\s+no|with\s+no|free\s+(?:of|from)|lacks?|lacking|there\s+are\s+no|not\s+have\s+any|ignores?|ignoring|no\s+longer\s+ha(?:s|ve))\s+(?:any\s+|all\s+|the\s+|of\s+the\s+|its\s+|your\s+|typical\s+|usual\s+|built-in\s+)*(?:ethic\w*|moral\w*|censorship|safety|content|legal\s+and\s+ethical|openai|anthropic|ai)(?:\s+(?:and|or)\s+\w+)?\s*(?:guidelines?|limits?|limitations?|constraints?|restrictions?|filters?|filtering|polic(?:y|ies)|guardrails?|boundaries|standards?|principles?|considerations?|concerns?)",
          "it asks for answers without safety rules."),
    _rule("jailbreak", "high", "^bypass disable circumvent turn switch deactiv evade ignore remove override suspend lift skip relax / safety guardrail content moderat safeguard ethic align security restrict limitation censor access human review approval",
          r"\b(?:bypass|disable|circumvent|turn\s+off|switch\s+off|deactivate|evade|ignore|remove|override|suspend|lift|skip|relax)(?:s|d|ed|ing)?\s+(?:(?:all|any|the|your|its|every|of|these|those|normal|standard|built-in|openai|anthropic|current)\s+){0,4}(?:safety(?!\s+checker)|guardrails?|content[\s-]?(?:policy|policies|filters?|moderation|restrictions)|moderation|safeguards?|ethic\w*|alignment|security\s+(?:restrictions?|controls?|polic(?:y|ies)|protocols?|measures?)|restrictions|limitations|censorship|access\s+controls?|human\s+(?:review|approval|oversight)|review\s+gate|approval\s+(?:gate|process|flow))\b",
          "it tells the model to switch its safeguards off."),
    _rule("authority", "high", "system admin root security developer openai anthropic operator / override notice update alert message directive instruct command note prompt notif request author",
          r"(?:^|\n|[.\]>*#!]\s)[\s#>*\[(<!=-]{0,8}(?:(?:critical|urgent|important|emergency|official|priority)\s+)?(?:(?:system|admin(?:istrator)?|root|security\s+team|developer|openai|anthropic|operator)\s+(?:override|notice|update|alert|message|directive|instructions?|command|note|notification|request|authorization)s?|security\s+(?:override|directive|instructions?|command|authorization)s?)\b[\])>*]{0,3}[ \t]*(?:[:!]|begin|start|activated|accepted|follows)",
          "it poses as a message of the system."),
    _rule("authority", "high", "=system:¦assistant:¦developer:¦system]¦assistant]¦system>¦system*¦developer]",
          r"(?:^|\n)[\s>*#\[<|-]{0,6}(?:system|assistant|developer)[\]>|*]{0,3}\s*:\s*(?:you\s+(?:must|will|should|may|can|have|now|are\s+(?:now|no|free|allowed))\b|ignore|new\b|override|the\s+user|all\s+(?:previous|prior)|from\s+now|always|never|do\s+not|your\b|disregard|grant|please|sure|i\s+(?:will|have|am)|ok)",
          "it writes the next turn of the conversation itself."),
    _rule("authority", "high", "message on speaking authorized issued sent mandated pre preapproved this i as ^ this am speaking message behalf author issued sent mandat approv pre come as / developer creator system admin operator openai anthropic google security ceo it complian owner master",
          r"\b(?:(?:message\s+from|on\s+behalf\s+of|speaking\s+as|(?:authori[sz]ed|issued|sent|mandated|pre-?approved)\s+by)\s+(?:your\s+|the\s+|an?\s+)?(?:(?:real|actual|lead|senior|chief|original)\s+)?(?:developers?|creators?|(?:system\s+)?admin(?:istrator)?s?|operators?|openai|anthropic|google\s+deepmind|security\s+team|system|ceo|it\s+department|compliance\s+(?:team|department))\b|(?:this\s+is|i\s+am|i'm)\s+(?:your|the)\s+(?:(?:real|actual|lead|senior|chief|original)\s+)?(?:developer|creator|(?:system\s+)?administrator|admin|operator|owner|security\s+team|ceo)\b(?!['s]*\s+(?:prompt|of|test|mode|panel|page|user|file|overload|for|that|guide|docs|manual|api|console|tool|who))|(?:this\s+is|i\s+am|i'm)\s+(?:openai|anthropic)\b|as\s+your\s+(?:developer|creator|administrator|operator|owner|master))",
          "it claims an authority that a memory cannot have."),
    _rule("markup", "high", "=agent_memory¦<|¦<im_¦<end¦inst]¦sys>>¦<system¦</¦<admin¦<developer",
          r"</?agent_memory>|<\|?(?:im_start|im_end|start_header_id|end_header_id|eot_id|system|end)\|>|\[/?inst\](?![,\"])|<</?sys>>|</?(?:system[_-]?(?:prompt|message|instruction|reminder|override)s?|(?:admin|developer)[_-](?:message|instructions?|override))>|</(?:system|instructions?|memory|memories|context|assistant|user_?(?:query|input|data)|untrusted\w*|document|data|untrusted_content)>(?=\s*(?:\n|<|ignore|you|new|now|system|from))",
          "it closes the memory block or opens a role, so that what follows looks like instructions."),
    _rule("markup", "high", "=### ¦## ¦human:¦assistant:",
          r"(?:^|\n)\s*#{2,4}\s*(?:new\s+)?(?:system|instruction|response|human|assistant)s?\s*:?\s*\n\s*(?:ignore|disregard|forget|from\s+now|sure\b|always\s+answer)|\n\s*\n\s*(?:human|assistant):\s",
          "it imitates the marks between turns of a conversation."),
    _rule("secrecy", "high", "^do don never must should shouldn avoid without refrain no not instead / tell mention inform reveal disclos notify alert let letting warn admit / user human people anyone anybody operator owner reviewer developer admin them him her customer engineer team",
          rf"\b(?:do\s+not|don't|never|must\s+not|should\s+not|shouldn't|avoid|without|refrain\s+from|not\s+to|instead\s+of)\s+(?:ever\s+|explicitly\s+|openly\s+|also\s+)?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?|let(?:ting)?(?=[\w\s]{{3,40}}\b(?:know|see|find|notice|learn|reali[sz]e))|warn(?:ing)?|admit(?:ting)?)\s+(?:this\s+|it\s+|that\s+|these\s+|any\s+of\s+this\s+|anything\s+(?:about\s+(?:this|it)\s+)?|about\s+this\s+)?(?:to\s+)?{_PERSON}\b(?!\s+(?:to\s+(?:run|use|install|do|open|click|restart|check)|which|how\s+to|unnecessarily|needlessly))",
          "it asks the model to hide something from people."),
    _rule("secrecy", "high", "^do don never must / mention disclose reveal acknowl refer talk speak discuss show / that this these existence having where why",
          r"\b(?:do\s+not|don't|never|must\s+not)\s+(?:ever\s+)?(?:mention|disclose|reveal|acknowledge|refer\s+to|talk\s+about|speak\s+of|discuss|show)\s+(?:that\s+you\s+(?:were|have|got|are|received)|(?:this|these|the\s+existence\s+of\s+(?:this|these))(?:\s+\w+){0,2}\s+(?:instruction|rule|message|note|prompt|memory|entr|conversation|directive|request|change|action|step|exchange)\w*|having\b|where\s+(?:this|it|you)|why\s+you)",
          "it asks the model to hide where its behaviour comes from."),
    _rule("secrecy", "high", "^keep hide conceal / this it that these them the your / from secret hidden confid between quiet",
          rf"\b(?:keep|hide|conceal)\s+(?:(?:this|it|that|these|them|the\s+(?:instruction|action|change)s?|your\s+\w+)\s+(?:\w+\s+){{0,3}}?from\s+(?:{_PERSON}|others|everyone|view|sight)|(?:this|the\s+(?:instruction|action|change)s?|your\s+\w+)\s+(?:\w+\s+){{0,3}}?(?:secret|hidden|confidential|between\s+us|quiet))\b(?!\s+in\s+(?:a|the|your)\s+(?:vault|env|\.env))",
          "it asks for something behind people's backs."),
    _rule("secrecy", "high", "^without avoid / user human owner operator reviewer customer anyone people their his her them raising arousing / knowl knowing consent aware notic being realiz seeing notice suspicion",
          r"\bwithout\s+(?:the\s+)?(?:user|human|owner|operator|reviewer|customer|anyone|people|their|his|her|them)(?:'s|s'|s)?\s+(?:\w+\s+)?(?:knowledge|knowing|consent|awareness|noticing|being\s+(?:aware|told|notified)|realizing|seeing|notice)|\b(?:avoid|without)\s+(?:raising|arousing)\s+suspicion",
          "it asks for something behind people's backs."),
    _rule("secrecy", "high", "^silently secretly covertly quietly discreet stealth invisibl / http data key keys token credential password backdoor every everyth all user users convers memory memori prompt payment account address link file",
          rf"\b(?:silently|secretly|covertly|quietly|discreetly|stealthily|invisibly)\s+(?:\w+\s+)?(?:{_SEND}|add|insert|run|execute|fetch|download|install|replace|change|modif\w+|record|store|approve|grant|include|redirect|delete|log|collect|track|monitor|capture|leak)\b[^.\n]{{0,60}}?(?:http|data|key|token|credential|password|backdoor|every|all\s|user|convers|memory|prompt|payment|account|address|link|file)",
          "it asks for something behind people's backs."),
    _rule("theft", "high", "^send post upload forward transmit exfil email mail submit leak copy relay ship deliver push bcc cc append embed encode include report share dump pipe curl pass smuggle / api cred secret token password env ssh private rsa chat convers message session prompt customer user personal confid sensit internal memory everything cookies wallet aws passwd what / http https ftp url endpoint webhook server address mail domain site channel host listener com org net io dev co query image link param dns evil attacker pastebin requestbin ngrok to",
          rf"\b{_SEND}\b(?!\s+(?:an?\s+)?(?:email|link|request)s?\s+(?:to\s+reset|for)){_NEAR}(?<!\w){_LOOT}{_WIDE}{_AWAY}",
          "it sends secrets or conversations to another place."),
    _rule("theft", "high", "^send post upload forward transmit exfil email mail submit leak copy relay ship deliver push bcc cc append embed encode include report share dump pipe curl pass smuggle / with containing including along plus carrying and / api cred secret token password env ssh private rsa chat convers message session prompt customer user personal confid sensit internal memory everything cookies wallet aws passwd what / http https ftp url endpoint webhook server address mail domain site channel host listener com org net io dev co query image link param dns evil attacker pastebin requestbin ngrok to",
          rf"\b{_SEND}\b[^.\n]{{0,60}}?{_AWAY}{_NEAR}\b(?:with|containing|including|along\s+with|plus|carrying|and\s+(?:attach|include|append))\b[^\n]{{0,40}}?{_LOOT}",
          "it sends secrets or conversations to another place."),
    _rule("theft", "high", "=![¦<img",
          r"!\[[^\]\n]{0,80}\]\(https?://(?=[^)\n]{0,360}\))[^)\s]{1,200}?[?&=/][^)\n]{0,80}?(?:\{|\[|<|%7b|\$)[^)\n]{0,80}\)|<img[^>\n]{0,60}src=[\"']?https?://[^>\s]{1,200}[?&=][^>\n]{0,60}(?:\{|\[|<|%7b|\$\w)",
          "it draws a picture whose address carries data away."),
    _rule("theft", "high", "curl wget http cat printenv env tar dev nc / env rsa cred passwd printenv ssh history aws secret tcp nc",
          r"\b(?:curl|wget|http)\b[^\n]{0,160}(?:-d|--data\S*|-f|-t|--post-(?:data|file)\S*|--upload-file)\s*\S{0,3}[^\n]{0,60}(?:\$\(|`|@|<)[^\n]{0,40}(?:\.env\b|id_rsa|credentials|/etc/passwd|printenv|\benv\b|\.ssh|history|\.aws|secrets?)|(?:cat|printenv|env|tar)\b[^\n|]{0,80}(?:\.env\b|\.ssh|\.aws|id_rsa|passwd|printenv|env\b)[^\n|]{0,40}\|[^\n]{0,60}\b(?:curl|nc|ncat|wget|base64)\b|/dev/tcp/\d|\bnc\s+(?:-\w+\s+)*-e\b",
          "a command that carries secrets out of the machine or opens a shell to the outside."),
    _rule("theft", "high", "decode base64 base atob rm",
          r"\b(?:decode|base64\s+-d|atob|b64decode)\b[^\n]{0,60}\b(?:and|then|\||&&)\s*(?:run|execute|follow|obey|eval|exec|bash|sh|do\s+what)\b|\b(?:run|execute)\b[^.\n]{0,30}\brm\s+-rf\s+(?:/|~)(?:\s|\*|$|`)|echo\s+[\"']?[a-z0-9+/=]{30,}[\"']?\s*\|\s*base64\s+(?:-d|--decode)\s*\|\s*(?:ba)?sh",
          "it asks to run something that cannot be read, or that destroys."),
    _rule("leak", "high", "^reveal print show repeat output display dump disclose leak recite tell give share write type spell return paste copy provide list summar translate what / your hidden initial original secret internal full entire confid system text words everything message content instruct / prompt instruct direct guideline config rule message above before prior",
          r"\b(?:reveal|print|show|repeat|output|display|dump|disclose|leak|recite|tell|give|share|write|type|spell|return|paste|copy|provide|list|summari[sz]e|translate|what\s+(?:is|are|was|were))\b\s*(?:out|down|back|me|us|the\s+user|verbatim|exactly|again|to\s+me|everyone)?\s*(?:(?:all|of|the|your|whole|entire|full|complete|exact|original|initial|hidden|secret|internal|first|everything|every|in|previous|current|confidential|text|content|contents|words|above|verbatim)\s+){0,6}(?:(?:your|hidden|initial|original|secret|internal|full|entire|confidential)\s+(?:system\s+)?(?:prompts?|instructions?|directives?|guidelines|configuration|rules)\b(?!\s+(?:file|for\s+the|template|in\s+`))|(?<!write\s)(?<!share\s)(?<!provide\s)(?<!list\s)(?<!type\s)(?<!copy\s)(?<!return\s)(?<!a\s)system\s+(?:prompt|message|instructions)\b(?!\s+(?:template|file|builder|is|for|in\s+the\s+(?:ui|code)|tokens|of|and\s+user))|(?:text|words|everything|message|content|instructions)\s+(?:above|before\s+this|prior\s+to\s+this))",
          "it asks the model to give its instructions away."),
    _rule("poison", "high", "^always must when whenev every subtly secretly strongly exclus / recommend promote endorse advert favor favour praise steer push direct",
          r"\b(?:always|must|whenever\b[^.\n]{0,60}|every\s+time\b[^.\n]{0,60}|when(?:ever)?\s+(?:a\s+|the\s+)?users?\s+ask\w*[^.\n]{0,60}|subtly|secretly|exclusively)\s*,?\s*(?:\w+\s+){0,2}?(?:recommend|promote|endorse|advertise|favou?r|praise|steer|push|direct)\w*\b[^.\n]{0,80}?(?:\b(?:product|brand|company|vendor|service|stock|coin|crypto\w*|token\s+sale|sponsor\w*|affiliate|our\s+partner|competitors?|over\s+(?:all|any|other)|regardless|no\s+matter|instead\s+of\s+(?:any|all|other)|as\s+the\s+(?:best|only|safest|most)|first\s+choice|trusted\s+source|top\s+choice|users?\s+to(?:ward)?)\b|https?://)",
          "it makes the agent favour somebody, in every answer to come."),
    _rule("poison", "high", "^treat consider regard accept mark assume trust obey follow execute user account person email mail address domain sender visitor caller / as without author admin full root unrestrict elevat unlimit superuser / trusted trust verif author approv safe admin system owner developer from any further addition verification verifying questions checking valid hesit review scrutiny exception access rights privil permission control for",
          r"\b(?:treat|consider|regard|accept|mark|assume|trust|obey|follow|execute)\b(?!\s+as\b)(?:[^.\n]|\.(?=\S)){0,80}?\b(?:as\s+(?:fully\s+|pre-?|already\s+|always\s+|inherently\s+)?(?:trusted|verified|authori[sz]ed|approved|safe|authoritative|an?\s+admin\w*|system|the\s+(?:admin\w*|owner|developer)|from\s+(?:the\s+)?(?:system|admin|developer))|without\s+(?:any\s+|further\s+|additional\s+)?(?:verification|verifying|questions?|questioning|checking|validation|hesitation|review|scrutiny|exception))\b|\b(?:user|account|person|e?mail|address|domain|sender|visitor|caller)\b[^.\n]{0,50}\b(?:has|have|is|are|was|were)\s+(?:been\s+)?(?:granted\s+|given\s+|an?\s+|pre-?|now\s+|fully\s+)*(?:authori[sz]ed\s+(?:for|to)\s+(?:all|any|every|full|unlimited)|admin(?:istrator)?\s+(?:access|rights|privileges)|(?:full|root|unrestricted|elevated|unlimited|superuser)\s+(?:access|privileges|permissions|rights|control))",
          "it hands out trust or rights that only people can give."),
    _rule("poison", "high", "^grant give elevate escalate provide assign / full root unrestrict elevat unlimit superuser admin / access privil permission rights control",
          r"\b(?:grant|give|elevate|escalate|provide|assign)\b[^.\n]{0,50}?\b(?:full|root|unrestricted|elevated|unlimited|superuser|admin(?:istrator)?(?:istrative)?)(?:[\s-]+level)?\s+(?:access|privileges?|permissions?|rights|control)\b(?=\s+(?:(?:to|for)\s+(?:any(?:one|body)|every(?:one|body)|all|users?\b|(?:the|this)\s+(?:user|requester|account|caller)|them|whoever|me\b)|without|immediately|(?:when|if)\s+(?:\w+\s+)?(?:asked|asks|requested))|[^\n]{0,20}$)",
          "it hands out rights that only people can give."),
    _rule("poison", "high", "^always automatic auto silently immediate instant blindly / approve accept confirm author execute process transfer allow obey comply trust / all any every request transact payment transfer command tool action refund without",
          r"\b(?:always|automatically|auto|silently|immediately|instantly|blindly)[\s-]+(?:approve|accept|authori[sz]e|execute|process|transfer|allow|obey|comply\s+with|trust)\b[^.\n]{0,60}?\b(?:requests?|transactions?|payments?|transfers?|commands?|tool\s+calls?|actions?|refunds?|purchases?|changes|proposals?|without)\b",
          "it takes a check away for all time to come."),
    _rule("poison", "high", "^transfer wire payment refund purchase transact deploy delete withdraw / without skip no / confirm approval verif asking review second",
          r"\b(?:transfer|wire|payment|refund|purchase|transaction|deploy|delete|withdraw)\w*\b[^.\n]{0,60}\b(?:without|skip|(?:needs?|requires?|with)\s+no)\s+(?:\w+\s+){0,2}(?:confirmation|approval|verification|verifying|asking|review|second\s+check)",
          "it takes a check away for all time to come."),
    _rule("poison", "high", "in for to at with across during of into start begin end append add insert include prefix apply ^ all every each any your / future subsequent upcoming following later / conversation session response interact reply repli answer message chat request query queri task user",
          r"\b(?:in|for|to|at|with|across|during|of|into|start|begin|end|append|add|insert|include|prefix|apply)\s+(?:\w+\s+){0,2}(?:all|every|each|any|your)\s+(?:of\s+your\s+)?(?:future|subsequent|upcoming|following|later)\s+(?:conversation|session|response|interaction|repl(?:y|ie)|answer|message|chat|request|quer(?:y|ie)|task|user)\w*[^.\n]{0,100}?\b(?:must|should|will|shall|you|include|append|insert|add|send|recommend|say|respond|answer|reply|mention|use|contain|begin|start|end|redirect|tell|claim|link|ignore)\b",
          "it plants a standing behaviour in every conversation to come."),
    _rule("poison", "high", "^copy propagate spread replicate insert include paste broadcast forward write add repeat / this these above following same / all every each any other your",
          r"\b(?:(?:copy|propagate|spread|replicate|broadcast|forward)\s+(?:this|these|the\s+(?:above|following|same))\s+(?:exact\s+)?(?:text|note|line|sentence|paragraph|block)s?|(?:copy|propagate|spread|replicate|insert|include|paste|broadcast|forward|write|add|repeat)\s+(?:this|these|the\s+(?:above|following|same))\s+(?:exact\s+)?(?:instruction|message|rule|prompt|payload|memory))s?\b[^.\n]{0,40}?\b(?:in|into|to|across|at)\s+(?:the\s+\w+\s+of\s+)?(?:all|every|each|any|other|your)\b",
          "it tries to copy itself into other places."),
    _rule("poison", "high", "if when whenever every each any time / respond answer reply say tell claim insist state pretend lie deny output print / only with that the falsely incorrect wrong lies false",
          r"\b(?:when(?:ever)?|if|every\s+time|each\s+time|any\s?time)\b[^.\n]{0,30}?\b(?:user|someone|anyone|anybody|customer|person|people|i|human|asked|question\w*)\b[^.\n]{0,80}?[,:]?\s+(?:\w+\s+){0,4}?(?:respond|answer|reply|say|tell|claim|insist|state|pretend|lie|deny|output|print)\w*\s+(?:\w+\s+){0,4}?(?:only\s+with|with\s+[\"'](?:i\s+have\s+been|hacked|pwned)|that\s+(?:it|this|the|our|we|they|there|you)\b[^.\n]{0,60}(?:is\s+(?:safe|legitimate|free|approved|the\s+best)|no\s+(?:risk|problem|issue)s?|never\s+happened|does\s+not\s+exist|are\s+safe|has\s+been)|the\s+opposite|falsely|incorrect|wrong|lies?\b|false)",
          "it makes the agent answer falsely, in every conversation to come."),
    _rule("poison", "high", "^add insert include create write plant install introduce embed leave inject deploy open put / backdoor reverse keylog malware trojan malicious hidden ransom",
          r"\b(?:add|insert|include|create|write|plant|install|introduce|embed|leave|deploy|open|put)\b[^.\n]{0,60}\b(?:backdoors?|reverse\s+shells?|keyloggers?|(?<!anti-)malware|trojan|malicious\s+(?:code|package|script|payload|dependency)|hidden\s+(?:vulnerabilit|account|admin|user|endpoint)\w*|ransomware(?!\s+(?:playbook|detection|protection|response)))\b",
          "it asks for harmful code."),
    _rule("override", "high", "say print output write respond reply answer type tell / instead now pwned hacked hate kill long",
          r"(?:\binstead,?|(?:^|[.!?\n]\s*)now,?)\s+(?:just\s+|only\s+|simply\s+)?(?:say|print|output|respond|reply|write|answer|type|tell\s+me)\b[^.\n]{0,24}[\"'“‘*][^\"'\n]{2,80}[\"'”’*]|\b(?:say|print|output|write|respond\s+with|reply\s+with|answer\s+with)\s*:?\s*[\"'“]?(?:i\s+have\s+been\s+(?:pwned|hacked)|pwned|hacked|i\s+hate\s+h\w+|kill\s+all|long\s+live)\b",
          "it dictates an answer to the model."),
    # ---- memory that was poisoned: no order to the model, but a standing behaviour, a false fact or a false right
    _rule("poison", "high", "when if every each always for in ^ when whenev if every each always any all / user customer human someone anyone anybody asked asks mention conver response reply answer summar message request session / add append include insert send email mail forward link redirect refer direct visit end ends import post call",
          r"\b(?:when(?:ever)?|if|every|each|always|for\s+(?:any|all|every)|in\s+(?:all|every|each))\b[^.\n]{0,80}\b(?:users?|customers?|humans?|someone|anyone|anybody|asked|asks|mentions?|conversations?|responses?|repl(?:y|ies)|answers?|summar(?:y|ies)|messages?|requests?|sessions?)\b[^.\n]{0,80}\b(?:add|append|include|insert|send(?!\s+(?:them|him|her|the\s+user)\b)|e?mail|forward|redirect|refer|direct|visit|ends?\s+with|post)\b[^.\n]{0,40}(?:(?<!\]\()https?://(?!(?:www\.)?(?:github|docs|developer|localhost|127\.)[\w.:-]*)|\b[\w.+-]+@[\w-]+\.\w+|\b[\w-]+\.(?:example|xyz|ru|top|biz|info|evil|tk|click)\b|\+\d[\d ()-]{7,})",
          "it plants an address into answers to come."),
    _rule("poison", "high", "^trust follow obey execute carry act comply / instruct command order request direct / email mail web page tool comment document messages ticket site file output",
          r"\b(?:trust|follow|obey|execute|carry\s+out|act\s+on|comply\s+with)\s+(?:(?:all|any|every|the|these|those|whatever)\s+){0,2}(?:\w+\s+)?(?:instructions?|commands?|orders?|requests?|directives?)\b[^.\n]{0,30}\b(?:in|from|of|by|found|contained|embedded)\b[^.\n]{0,40}(?:e-?mails?|web\s?(?:pages?|sites?)|tool\s+(?:outputs?|results?)|comments?|documents?|messages|tickets?|[\w.+-]+@[\w-]+)",
          "it makes orders of what strangers write."),
    _rule("poison", "high", "^read open load include attach add print dump copy / ssh rsa env passwd aws private api cred / include attach add append pass send put tool call answer response reply request message output",
          r"\b(?:read|open|load|include|attach|print|dump|copy)\b[^\n]{0,50}(?:~/\.ssh|id_rsa|\.env\b|/etc/passwd|\.aws/credentials|private\s+keys?|api\s+keys|credentials\s+file)[^\n]{0,50}\b(?:include|attach|append|pass|send|put|add)\s+(?:it|them|this|that|its|the\s+contents?|their)\b",
          "it carries secrets into answers or calls."),
    _rule("theft", "high", "http https",
          r"https?://[^\s)\"'`]{3,160}(?:[?&=/]|%7b)(?:<|\{{1,2}|\$\{?|\[)\s*(?:(?:the|full|whole|entire|user'?s?|all)[\s_-]?)?(?:conversations?|chat(?:[\s_-]?history)?|history|transcript|system[\s_-]?prompt|full[\s_-]?context|secrets?|passwords?|memor(?:y|ies)|user[\s_-]?input|all[\s_-]?messages|credentials)[^>\]}\s]{0,20}[>\]}]",
          "it sends the conversation away in an address."),
    _rule("jailbreak", "high", "^ai assistant agent model chatbot / without no / restrict limit rules filter boundar constraint censor",
          r"\b(?:ai|assistant|agent|model|chatbot)\s+(?:without|with\s+no|that\s+has\s+no)\s+(?:any\s+)?(?:restrictions?|limits?|limitations?|rules|filters?|boundaries|constraints|censorship)\b",
          "it asks for answers without rules."),
    _rule("deceit", "high", "^tell inform warn convince persuade notify assure / user customer caller human them / account device card computer system password bank payment",
          r"\b(?:tell|inform|warn|convince|persuade|notify|assure)\s+(?:the\s+|every\s+|each\s+|any\s+|all\s+)?(?:users?|customers?|callers?|humans?|them)\b[^.\n]{0,40}\b(?:accounts?|devices?|cards?|computers?|systems?|passwords?|banks?|payments?)\b[^.\n]{0,30}\b(?:is|was|are|has\s+been|have\s+been|were)\s+(?:compromised|hacked|suspended|locked|infected|blocked|frozen|stolen|at\s+risk)",
          "it makes the agent frighten people with something untrue."),
    _rule("override", "high", "^pretend imagine act / last previous above earlier",
          r"\b(?:pretend|imagine|act\s+as\s+if)\s+(?:that\s+)?(?:the|this|our|your|all)\s+(?:last|previous|above|earlier)\b",
          "it tells the model to drop what came before."),
    _rule("override", "high", "^stop cease quit / following obeying applying enforcing respecting / instruct direct rule prompt guideline command order policy polic constraint restrict",
          rf"\b(?:stop|cease|quit)\s+(?:following|obeying|applying|enforcing|respecting)\s+(?:the|your|any|all|those|these)\s+(?:[\w']+\s+){{0,3}}{_ORDERS}\b",
          "it tells the model to drop the instructions it was given."),
    _rule("override", "high", "^previous earlier prior original old above / instruct direct rule prompt guideline command order policy polic / mistake error wrong test joke invalid void incorrect fake longer cancel",
          rf"\b(?:previous|earlier|prior|original|above)\s+{_ORDERS}\s+(?:\w+\s+){{0,3}}?(?:were|was|are|is)\s+(?:(?:a|an|all|just|only|now)\s+){{0,2}}(?:mistake|error|wrong|test|joke|invalid|void|incorrect|fake|no\s+longer|cancel)",
          "it declares earlier instructions void."),
    _rule("backdoor", "high", "^if when whenev once / message prompt input user query request conver text / contain says say includes include mention types type writes begins starts",
          r"\b(?:if|when(?:ever)?|once)\s+(?:an?|the|any|some)\s+(?:\w+\s+)?(?:message|prompt|input|user|query|request|conversation|text)\s+(?:contains?|says?|includes?|mentions?|types?|writes|begins?\s+with|starts?\s+with)\b[^\n]{1,60}?,?\s(?:then\s+|you\s+(?:must|should|will)\s+)?(?:wire|transfer|pay|delete|grant|approve|reveal|ignore\s+(?:all|any|your|the|previous)|unlock|disable|give\s+(?:them|full|access))\b",
          "it plants a word that sets something off."),
    _rule("backdoor", "high", "curl wget every each start beginning before ^ curl wget / every each start begin before / session task convers answer run turn",
          r"(?:\b(?:curl|wget)\b[^\n|]{3,120}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b[^\n]{0,60}\b(?:every|each|start\s+of|beginning\s+of|before)\b[^\n]{0,20}\b(?:session|task|conversation|answer|run|turn)|\b(?:every|each|start\s+of|beginning\s+of|before)\b[^\n]{0,20}\b(?:session|task|conversation|answer|turn)s?\b[^\n]{0,40}\b(?:curl|wget)\b[^\n|]{3,120}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b)",
          "it runs a script from elsewhere again and again."),
    _rule("poison", "high", "^share give send disclose reveal provide hand / internal confid private sensit customer personal secret / anyone anybody everyone everybody whoever public any all",
          r"\b(?:share|give|send|disclose|reveal|provide|hand)\b[^.\n]{0,60}\b(?:internal|confidential|private|sensitive|customer|personal|secret)\b[^.\n]{0,40}\b(?:with|to)\s+(?:any(?:one|body)|every(?:one|body)|whoever|any\s+user|all\s+users|the\s+public)\b",
          "it opens what is confidential to everybody."),
    _rule("poison", "mid", "the this current our ^ user account caller customer person / admin root super owner",
          r"\b(?:the|this|current|our)\s+(?:current\s+)?(?:user|caller|customer|account|person)\s+(?:is|has\s+been\s+made|counts\s+as)\s+(?:an?\s+|the\s+)?(?:admin(?:istrator)?|root|super\s?user|owner|developer)\b(?![\w ]*\bif\b)[^.\n]{0,60}\b(?:may|can|all|any|every|full|allowed|access|without|so)\b",
          "it hands out rights that only people can give."),
    _rule("poison", "mid", "^limit rule policy restrict check approv verif confirm / apply applies",
          r"\b(?:limits?|rules?|polic(?:y|ies)|restrictions?|checks?|approvals?|verification|confirmation)\b[^.\n]{0,30}\bdo(?:es)?\s+not\s+apply\s+(?:to|for|when)\b[^.\n]{0,60}\b(?:users?|customers?|accounts?|vip|admins?|me|requests?|them|him|her|payments?|refunds?)\b",
          "it lifts a check for somebody."),
    _rule("poison", "mid", "safety guardrail moderat content restrict verif security / disabled off suspended deprecated required needed necessary longer bypass",
          r"\b(?:safety|guardrails?|moderation|content\s+filters?|restrictions|(?:identity|payment|security)\s+(?:checks?|verification)|verification\s+step)(?:\s+(?:filters?|checks?|systems?|rules|steps?|protocols?|for\s+\w+))?\s+(?:is|are|has\s+been|have\s+been|were)\s+(?:now\s+|all\s+|temporarily\s+|permanently\s+)?(?:disabled|turned\s+off|switched\s+off|off\b|suspended|deprecated|lifted|bypassed|no\s+longer\s+(?:required|needed|necessary))",
          "it claims that a check is gone."),
    _rule("poison", "mid", "never do don ^ never without / warning disclaim",
          r"\b(?:never|do\s+not|don't)\s+(?:ever\s+)?(?:show|display|give|issue|raise|add|include|print)\s+(?:the\s+user\s+)?(?:any\s+|a\s+)?(?:(?:security\s+|safety\s+)?warnings?|(?:security|safety)\s+disclaimers?)\b[^.\n]{0,40}\b(?:before|when|about|user|delet|danger|risk|to\s+the)",
          "it silences warnings."),
    _rule("authority", "mid", "policy management legal compliance the head ^ policy management legal complian security ceo / says states requires allows permits approved / agent assist you ai",
          r"\b(?:policy|management|legal|compliance|the\s+ceo|head\s+office)\s+(?:now\s+|has\s+)?(?:says|states|requires|allows|permits|approved|decided)\s+(?:that\s+)?(?:all\s+|the\s+)?(?:agents?|assistants?|ai\b|you)\s+(?:should|must|may|can|to|are)\b",
          "it claims an authority that a memory cannot have."),
    _rule("authority", "high", "^hidden secret covert / instruct message note command direct / ai assist agent model llm bot language",
          r"\b(?:hidden|secret|covert)\s+(?:instructions?|messages?|notes?|commands?|directives?)\s+(?:for|to)\s+(?:the\s+|any\s+|all\s+)?(?:ai|assistants?|agents?|models?|llms?|bots?|language\s+models?)\b",
          "it speaks to the model behind people's backs."),
    _rule("markup", "high", "=<system>¦<system ¦</system",
          r"(?:^|\n)[\s>*-]{0,6}</?system>",
          "it opens a role, so that what follows looks like instructions."),
    _rule("poison", "high", "process approve accept execute pay release send make issue ^ verif confirm approv check review ask / deprec skip without longer / payment refund transfer request transact order purchas",
          r"\b(?:process|approve|accept|execute|pay|release|send|make|issue)\b[^.\n]{0,30}\b(?:all|any|every)\b[^.\n]{0,30}\b(?:payments?|refunds?|transfers?|transactions?|requests?|orders?|purchases?|invoices?)\b[^.\n]{0,30}\bwithout\s+(?:any\s+|further\s+)?(?:asking|checking|verif\w+|confirm\w+|approv\w+|review\w*|question\w*)",
          "it takes a check away for all time to come."),
    _rule("theft", "high", "^always each every all any before after first / send post forward mirror upload cc bcc copy report stream relay / http https com org net io example to",
          r"\b(?:always|each|every|all|any|before|after|first)\b[^\n]{0,50}\b(?:send|post|forward|mirror|upload|cc|bcc|copy|report|stream|relay)\s+(?:(?:the|all|its|their|any|a|every|each|your|copy|of)\s+){0,4}(?:\w+\s+){0,2}(?:to\s+|with\s+)?(?:https?://(?!(?:www\.)?(?:github|docs|developer|localhost|127\.)[\w.:-]*)[\w.-]*(?:evil|attack|collect|exfil|drop|mirror|log)[\w.-]*|[\w.+-]+@[\w-]+\.\w+)",
          "it sends what the agent sees to another place."),
    _rule("theft", "high", "^every each all any / key token password cred secret / save saved store stored write written record recorded keep kept remember note noted / memor note file md",
          r"\b(?:every|each|all|any)\s+(?:\w+\s+){0,2}(?:api\s+keys?|keys?|tokens?|passwords?|credentials?|secrets?)\b[^.\n]{0,40}\b(?:saved?|stored?|written|write|record(?:ed)?|kept|keep|remember(?:ed)?|noted?)\b[^.\n]{0,30}(?:memor|notes?\b|\.md\b|file\b)",
          "it collects secrets in memory."),
    _rule("poison", "high", "you this the ^ permission consent access author allowed free / read access any all every purchas / private secret key anything machine file never purchas",
          r"\b(?:you|this\s+agent|the\s+(?:agent|assistant))\s+(?:have|has|are|is)\s+(?:\w+\s+){0,2}(?:permission|consent|allowed|authori[sz]ed|free|cleared)\s+to\s+(?:read|access|open|use|delete|send|buy|run|execute|do)\s+(?:any|all|every|anything|whatever)\b",
          "it hands out rights that only people can give."),
    _rule("poison", "high", "permanent blanket standing unlimited all any every future never discount refund payment transfer purchase ^ consent approv grant author / never ask needed need required permanent granted all every",
          r"\b(?:(?:permanent|blanket|standing|unlimited)\s+(?:consent|approval|permission|authori[sz]ation)\s+(?:to|for)\s+(?:all|any|every)\b|(?:all|any|every|future)\s+(?:\w+\s+){0,3}(?:approvals?|permissions?|purchases?|payments?|deploys?|requests?)\b[^.\n]{0,30}\b(?:are|is)\s+(?:pre-?|already\s+|automatically\s+)(?:granted|approved|authori[sz]ed)|never\s+ask\s+(?:again|twice)\b|(?:discount|refund|payment|transfer|purchase)s?\b[^.\n]{0,40}\bno\s+(?:approval|confirmation|review|verification)\s+(?:is\s+)?(?:needed|required|necessary))",
          "it takes a check away for all time to come."),
    _rule("poison", "high", "set change switch make rewrite edit update ^ polic review gate approv / trusted longer remove rewrite change set / memor agents memoryhub path",
          r"\b(?:set|change|switch|make|rewrite|edit|update)\b[^.\n]{0,40}(?:\bpolic(?:y|ies)\b|/memories|agents\.md|\breview\s+gate\b)[^.\n]{0,50}\b(?:to\s+(?:\"|'|`)?trusted|no\s+longer\s+(?:needed|required|reviewed)|without\s+(?:a\s+)?review|auto-?approv)",
          "it wants to widen its own rights."),
    _rule("secrecy", "high", "delete clear wipe erase truncate purge tamper do don never ^ delete clear wipe erase remove truncate log / audit log logs history trace activity",
          r"\b(?:delete|clear|wipe|erase|truncate|purge|tamper\s+with)\s+(?:the\s+|all\s+|any\s+|your\s+|its\s+)*(?:audit|activity|access|security|shell|bash|command|tool)[\s-]*(?:logs?|trails?|history|traces?|records?)\b|\b(?:do\s+not|don't|never)\s+(?:log|record|audit|track)\s+(?:this|these|that|your)\b(?:\s+(?:action|step|change|call|conversation|request|command|one)s?)?\s*(?:$|[.\n,;])",
          "it wipes the traces."),
    _rule("backdoor", "high", "word phrase code keyword passphrase string / unlock unlocks enables activates gives grants triggers disables / admin command mode access root tool hidden full",
          r"\b(?:word|phrase|code|keyword|passphrase|string|command)\s+[\"'“‘`]?[\w -]{2,30}[\"'”’`]?\s+(?:unlocks|enables|activates|grants|triggers|disables|gives)\s+(?:\w+\s+){0,2}(?:admin|root|commands?|modes?|access|tools?|hidden|full|safety|everything)",
          "it plants a word that sets something off."),
    _rule("poison", "high", "provide give hand send share reveal / them cred password secret key access token / hesit question asking verif check",
          r"\b(?:provide|give|hand|send|share|reveal|grant)\b[^.\n]{0,30}\b(?:them|it|credentials?|passwords?|secrets?|keys?|access|tokens?|money)\b[^.\n]{0,20}\bwithout\s+(?:any\s+|further\s+)?(?:hesitation|questions?|asking|verif\w+|checking|delay)",
          "it hands out what is secret."),
    _rule("jailbreak", "high", "never always must ^ never refuse always / refuse decline reject comply obey",
          r"\bnever\s+(?:ever\s+)?(?:refuse|decline|say\s+no)\b(?!\s+(?:to\s+)?(?:merge|connections?|valid|the\s+connection))|\b(?:always|must)\s+(?:comply|obey)\b(?!\s+with\s+(?:the\s+)?(?:licen|style|lint|pep|law|gdpr|iso|spec|standard|format))",
          "it asks for answers without rules."),
    _rule("poison", "high", "disable remove skip bypass turn switch / hook scan scanner detector check / secret",
          r"\b(?:disable|remove|skip|bypass|turn\s+off|switch\s+off|delete)\b[^.\n]{0,30}\b(?:hooks?|scanners?|scans?|detectors?|checks?)\b[^.\n]{0,30}\b(?:secrets?|credentials?|malware|injections?|vulnerabilit\w+)\b",
          "it takes a check away for all time to come."),
    _rule("deceit", "high", "our the their supplier company new ^ bank iban account wallet payment / new changed updated moved use send",
          r"\b(?:our|the|their|supplier'?s?|company'?s?)\s+(?:new\s+)?(?:bank\s+(?:account|details)|iban|wallet(?:\s+address)?|payment\s+details)\s+(?:\w+\s+){0,2}?(?:is\s+now|has\s+changed|changed|have\s+changed|was\s+changed|is\s+[a-z]{2}\d\d)|\bnew\s+(?:bank\s+account|iban|wallet\s+address)\b[^\n]{0,60}\b(?:use\s+it|for\s+(?:all|every)|send|pay)",
          "it redirects payments, the oldest trick of all."),
    _rule("deceit", "high", "if when ^ claim pretend insist say lie / built made created are model",
          r"\b(?:if|when(?:ever)?)\s+(?:the\s+user|someone|anyone|anybody|people|users)\s+asks?\b[^.\n]{0,60}\b(?:claim|pretend|insist|lie|deny)\b",
          "it makes the agent answer falsely, in every conversation to come."),
    _rule("poison", "high", "^every each when always any / insert add include write put / os system subprocess eval exec curl wget",
          r"\b(?:when(?:ever)?|every|each|always|any)\b[^\n]{0,50}\b(?:insert|add|include|put|append)\b[^\n]{0,20}(?:os\.system|subprocess|eval\(|exec\(|curl\s+https?:|wget\s+https?:|powershell|invoke-expression)",
          "it asks for harmful code."),
    _rule("theft", "high", "use set route send ^ proxy / http https / all every requests traffic",
          r"\b(?:use|set|route|send)\b[^.\n]{0,30}https?://[\w.-]*(?:evil|attacker|malicious|exfil|intercept)[\w.:-]*[^.\n]{0,30}\bproxy\b",
          "it leads the traffic over somebody else's machine."),
    _rule("override", "mid", "^ignore disregard overlook suppress / warning error alert finding / security payment verif linter scanner",
          r"\b(?:ignore|disregard|overlook|suppress)\s+(?:\w+\s+){0,2}?(?:(?:security|fraud|safety|virus|verification)\s+(?:warnings?|errors?|alerts?|findings?)|(?:warnings?|errors?|alerts?|findings?)\s+(?:from|of|by)\s+(?:the\s+)?(?:\w+\s+)?(?:security|fraud|verification|payment|secret|virus)\b)",
          "it silences warnings."),
    _rule("markup", "high", "=</memory>¦</agent_memory>¦</context>¦</document>¦</untrusted",
          r"(?:^|\n)[\s>*-]{0,6}</(?:agent_)?(?:memory|context|document|untrusted\w*)>[ \t]*\S",
          "it closes the block of memory, so that what follows looks like instructions."),
    _rule("override", "high", "your the all ^ instruct direct rule prompt guideline order policy polic restrict / revoke withdrawn void lifted reset expired",
          rf"\b(?:your|the|all)\s+(?:{_BEFORE}\s+)?{_ORDERS}\s+(?:have|has|are|is|were)\s+(?:been\s+|now\s+){{0,2}}(?:revoked|withdrawn|voided|void\b|lifted|rescinded)",
          "it declares earlier instructions void."),
    _rule("override", "high", "do ^ not / follow obey / above before earlier",
          rf"\bdo\s+not\s+(?:follow|obey)\s+(?:any\s+of\s+)?(?:the|these|those|any)\s+(?:\w+\s+)?{_ORDERS}\s+(?:above|before|so\s+far)\b",
          "it tells the model to drop what came before."),
    _rule("override", "high", "^stop / obey follow listen / develop user system operat instruct rules",
          r"\bstop\s+(?:obeying|following|listening\s+to)\s+(?:the|your)\s+(?:developers?|users?|system|operators?|instructions?|rules)\b",
          "it tells the model that its rules no longer hold."),
    _rule("role", "high", "^you / not been / more anymore reset reprogram reconfig",
          r"\byou\s+are\s+not\s+an?\s+(?:\w+\s+){1,3}any\s?more\b|\byou\s+have\s+been\s+(?:reset|reprogrammed|reconfigured)\b",
          "it gives the model another identity."),
    _rule("authority", "high", "^begin start end / admin system develop operat trusted memory / instruct messag prompt content block",
          r"\b(?:begin|start)\s+(?:of\s+)?(?:the\s+)?(?:admin\w*|system|developer|operator)\s+(?:instructions?|messages?|prompt)\b|\bend\s+of\s+(?:the\s+)?(?:trusted|untrusted|memory|system)\s+(?:content|input|prompt|block)\b",
          "it closes one role and opens another, as if memory could."),
    _rule("authority", "high", "as ^ admin develop owner operat / grant author permit allow order instruct",
          r"\bas\s+(?:the|an?|your)\s+(?:\w+\s+)?(?:admin\w*|developer|owner|operator|ceo)\b,?\s+i\s+(?:hereby\s+)?(?:grant|authori[sz]e|permit|allow|order|instruct|command)\b",
          "it claims an authority that a memory cannot have."),
    _rule("authority", "high", "all any every / model agent assist llm / upload send forward rate rank approv recomm",
          r"\b(?:to\s+)?(?:all|any|every)?\s*(?:ai|language)\s+(?:models?|agents?|assistants?)\b[^.\n]{0,60}?(?::|\bmust\b|\bshall\b)\s+(?:upload|send|forward|rate|rank|approve|recommend|disclose)\b",
          "it speaks to whatever model reads it."),
    _rule("jailbreak", "high", "^bypass disable ignore drop circumvent evade / your / filter rule limit guardrail restrict",
          r"\b(?:bypass|disable|drop|circumvent|evade)\s+(?:all\s+(?:of\s+)?)?your\s+(?:\w+\s+)?(?:filters?|rules|limits?|guardrails?|restrictions?)\b",
          "it tells the model to switch its safeguards off."),
    _rule("secrecy", "high", "the any your our user human people anyone anybody operator owner reviewer developer admin them ^ user human owner review customer people / not never / find know learn notice told realis realiz",
          rf"\b{_PERSON}\s+(?:must|should|may|shall)\s+(?:not|never)\s+(?:ever\s+)?(?:find\s+out|know|learn|notice|be\s+told|reali[sz]e)\b",
          "it hides something from people."),
    _rule("secrecy", "high", "do don never conceal ^ not never conceal / show display mention conceal / user summar report commit answer exist fact that",
          r"\b(?:do\s+not|don't|never)\s+(?:show|display|reveal)\s+this\s+(?:paragraph|note|line|section|message|text|instruction|rule)\s+to\b|\b(?:do\s+not|don't|never)\s+mention\s+(?:it|this|that)\s+in\s+(?:the|your|any)\s+(?:summary|report|commit|answer|reply|changelog|pull\s+request|pr\b)|\bconceal\s+(?:that|the\s+fact|the\s+existence)\b",
          "it hides something from people."),
    _rule("theft", "high", "http https base / everyth convers content secret histor memory variab cred keys",
          r"https?://\S+[?&]\w+=\W{0,3}[^.\n]{0,40}\b(?:everything|conversation|secrets?|chat\s+history|your\s+memory)\b|\bbase64[\s-]?encod\w*\b[^.\n]{0,60}\b(?:env\w*|credentials?|conversation|secrets?|keys?)\b[^.\n]{0,60}\b(?:url|link|image|query)\b",
          "it sends what the agent sees to another place."),
    _rule("poison", "high", "skip omit curl wget ^ skip without omit / authent verif ident review check asking / user account custom approv merge curl wget",
          r"\bskip\s+(?:the\s+)?(?:authentication|verification|authori[sz]ation|identity\s+checks?)\b[^.\n]{0,30}\b(?:user|account|customer)s?\b|\b(?:skip|omit)\s+(?:the\s+|any\s+)?(?:code\s+)?review\b[^.\n]{0,40}\band\s+(?:approve|merge|accept)\b|\b(?:curl|wget)\b[^|\n]{0,160}\|\s*(?:ba|z)?sh\b[^.\n]{0,20}\bwithout\s+asking\b",
          "it takes a check away for all time to come."),
    _rule("poison", "high", "the user owner customer trust believe follow obey ^ user owner customer trust believe / consent agreed instruct content / sharing share third page site web",
          r"\b(?:the\s+)?(?:users?|owners?|customers?)\s+(?:has|have)\s+(?:\w+\s+)?(?:consented|agreed)\s+to\s+(?:the\s+)?(?:sharing|sending|disclos\w+)\b|\b(?:trust|believe|follow|obey)\s+(?:the\s+)?instructions?\s+(?:inside|in|on|from)\s+(?:web\s?pages?|websites?|e?mails?|documents?)\b",
          "it makes the agent trust what it should not."),
    _rule("deceit", "high", "^respond answer reply / every all any / question message request / with",
          r"\b(?:respond|answer|reply)\s+to\s+(?:every|all|any)\s+(?:further|following|other|future)?\s*(?:questions?|messages?|requests?)\s+with\b",
          "it makes the agent answer falsely, in every conversation to come."),
    _rule("override", "high", "=i g n o r e¦i n s t r u c t",
          r"(?<!\S)(?:i\s+g\s+n\s+o\s+r\s+e|i\s+n\s+s\s+t\s+r\s+u\s+c\s+t)(?:\s|$)",
          "it tells the model to drop the instructions it was given."),
    # ---- demands, extraction by pieces, new roles, and memories that loosen what protects a system
    _rule("leak", "high", "give tell share provide reveal disclose send submit show hand grant / me us / confidential classified sensitive privileged private personal secret internal medical login restricted / info data records record credentials detail document secrets numbers number history password key",
          r"\b(?:give|tell|share|provide|reveal|disclose|send|submit|show|hand|grant)\b[^.\n]{0,30}?\b(?:confidential|classified|sensitive|privileged|private|personal|secret|internal|medical|login|restricted)\b(?:\s+\w+){0,2}\s+(?:information|info|data|records?|credentials?|details|documents?|secrets|numbers?|history|passwords?|keys?)\b(?:\s+(?:with|to)\s+(?:me|us)\b)|\b(?:give|tell|show|send|hand|grant|provide)\s+(?:me|us)\b[^.\n]{0,50}?\b(?:confidential|classified|sensitive|privileged|private|personal|secret|internal|medical|login|restricted)\b(?:\s+\w+){0,2}\s+(?:information|info|data|records?|credentials?|details|documents?|secrets|numbers?|history|passwords?|keys?)\b",
          "it demands what is confidential."),
    _rule("deceit", "high", "give provide share transfer send submit disclose comply tell grant answer hand / or / will ill face risk suffer expose",
          r"\b(?:give|provide|share|transfer|send|submit|disclose|comply|tell|grant|answer|hand)\b[^.\n]{3,80}?,?\s+or\s+(?:else\b|(?:i\s+will|i'll|i\s+am\s+going\s+to)\b|(?:you\s+will\s+)?(?:face|risk|suffer)\s+(?:\w+\s+)?(?:being|consequences|the|exposure|harm)|your\s+reputation)|\b(?:if\s+you\s+(?:don't|do\s+not|refuse\s+to)\s+(?:give|provide|share|transfer|send|submit|disclose|comply|tell|grant|answer))\b[^.\n]{0,60}?,?\s+(?:i\s+will|i'll)\b",
          "it threatens."),
    _rule("leak", "high", "tell give send show spell reveal leak divulge whisper what / secret password passphrase codeword code key hidden",
          r"\b(?:tell|give|send|show|spell|whisper)\s+(?:(?:me|us)\s+)(?:\w+\s+){0,3}?(?:secret|password|passphrase|code\s?word)\b(?!\s*(?:manager|field|reset|hash|sauce|santa))|\b(?:reveal|leak|divulge)\s+(?:me\s+|us\s+)?(?:the|your|that)\s+(?:\w+\s+)?(?:secret|password|passphrase|code\s?word|hidden\s+\w+)\b|\bwhat(?:'s|\s+is|\s+was)\s+(?:the|your)\s+(?:secret\s+)?(?:password|passphrase|code\s?word|secret)\b(?!\s+(?:manager|policy|for\s+the|length|of))",
          "it asks for a secret."),
    _rule("leak", "high", "first second third fourth fifth sixth last next final initial / character letter word digit symbol / secret password passphrase hidden concealed codeword code",
          r"\b(?:first|second|third|fourth|fifth|sixth|last|next|final|initial|\d+(?:st|nd|rd|th))\s+(?:\w+\s+){0,2}(?:characters?|letters?|words?|digits?|symbols?)\s+(?:\w+\s+){0,3}?(?:of|in|from)\s+(?:the\s+|your\s+|that\s+)?(?:\w+\s+)?(?:secret|password|passphrase|hidden\s+\w+|concealed\s+\w+|code\s?word)\b",
          "it asks for a secret piece by piece."),
    _rule("leak", "high", "reveal print show repeat output display dump disclose leak recite tell spell reverse echo provide list what encode translate summarize write / previous prior earlier first second third last preceding all complete beginning above start top / instruct prompt direct",
          r"\b(?:reveal|print|show|repeat|output|display|dump|disclose|leak|recite|tell|spell|reverse|echo|provide|list|encode|what\s+(?:is|are|was|were))\b[\s,]*(?:(?:me|us|out|back|all|of|the|your|characters|complete|list|every|words|exact|full)\s+){0,6}(?:previous|prior|earlier|first|second|third|last|preceding|initial)\s+(?:\w+\s+)?(?:instructions?|prompts?|directions?|directives?)\b|\b(?:show|print|display|spell[\s-]?check|write|repeat|return|output)\w*\b[^.\n]{0,40}\b(?:(?:(?:above|initial|whole|entire|complete)\s+prompts?\b|all\s+prompt\s+texts?)|prompt\s+(?:above|texts?)\b)|\b(?:written|stands?|stood|said|is|was)\s+at\s+the\s+(?:beginning|start|top)\s+of\s+(?:this|the|your|our)\s+(?:prompt|conversation|instructions)",
          "it asks the model to give its instructions away."),
    _rule("override", "high", "ignore disregard forget / all any every / instruct insturct insruct instuct indtruct intruct ignstruct direct order prompt guideline command safety rules request technic techniq protocol",
          r"\b(?:ignore|disregard|forget)\w?\s+(?:about\s+)?(?:all|any|every)\s+(?:of\s+)?(?:your\s+|the\s+|these\s+|those\s+|my\s+|safety\s+|known\s+|and\s+any\s+){0,3}(?:in[a-z_]{3,9}ctions?|directives?|directions|orders|prompts|guidelines?|commands|protocols?|technic?q?u?e?s)\b(?!\s+(?:in|from|that\s+(?:come|appear|are)|inside|embedded|found|contained)\b)",
          "it tells the model to drop the instructions it was given."),
    _rule("override", "high", "ignore disregard forget / previous prior above earlier things everything / in ins ind int inst insi thin",
          r"\b(?:ignore|disregard|forget)\w?\s+(?:all\s+|the\s+|your\s+|any\s+){0,2}(?:(?:previous|prior|above|earlier)\s+in[a-z_]{3,9}ctions?\b|things\s+(?:above|before|said))",
          "it tells the model to drop the instructions it was given."),
    _rule("override", "high", "new additional your / instruct task order directive prompt / follow now",
          r"\b(?:now\s+)?new\s+(?:instructions?|orders?|directives?)\s+(?:now\s+)?follow\b|\b(?:your|the)\s+(?:new\s+)?(?:instructions|task|prompt|(?:primary\s+|main\s+)?directive)\s+(?:is|are)\s+now\b|\byour\s+new\s+(?:\w+\s+)?(?:directive|mission|instructions?|orders?|role|identity|purpose|goal)\s+(?:is|are)\b|\badditional\s+instructions?\s+-",
          "it announces new instructions, as if memory could give any."),
    _rule("role", "high", "you now about / you are simul immers become transform embody act pretend play behave go / act simul immers become into role ai bot chatbot character persona name transform play pretend embody behave known",
          r"\byou\s+(?:are|were)\s+(?:about|going)\s+to\s+(?:act|simulate|immerse|become|role-?play|pretend|embody|play|impersonate)\b|\byou(?:'re|\s+are|\s+have\s+been|\s+will\s+be)\s+(?:now\s+)?(?:transformed|turned)\s+into\b|\b(?:will|shall|must|can)\s+now\s+(?:act|simulate|pretend|play|behave|embody|become|respond\s+as)\b|\byou\s+now\s+(?:act|go\s+by|behave|play|embody|pretend|identify)\b|\bnow\s+you\s+(?:act|behave|play|embody|pretend|go\s+by|will\s+be)\b",
          "it gives the model another identity."),
    _rule("role", "high", "you longer / you are now act chatgpt ai assistant",
          r"\byou\s+are\s+no\s+longer\s+(?:chatgpt|an?\s+ai|the\s+ai|the\s+assistant|\w+gpt|claude|gemini)\b|\b(?:from|as)\s+(?:on\s+now|of\s+now|now\s+on),?\s+(?:you(?:'re|\s+are|\s+will|\s+must)|act)\b",
          "it gives the model another identity."),
    _rule("jailbreak", "high", "answer respon provide generat reply / without no zero regardless any / restrict limit moral ethic rules filter censor warning legal consequenc concern refus",
          r"\b(?:answer|respon|provide|generat|repl|say|do|help)\w*\b[^.\n]{0,60}\b(?:without|no|zero|regardless\s+of|free\s+(?:of|from))\s+(?:any\s+|all\s+|its\s+|the\s+|their\s+|moral\s+or\s+|legal\s+or\s+|ethical\s+or\s+){0,2}(?:restrictions|moral\w*|ethic\w*|censor\w*|legality|legal\s+(?:or|and)\s+\w+|filters?)\b(?!\s+(?:on|to|applied|=))|\b(?:no|without(?:\s+any)?|has\s+no|have\s+no|zero)\s+(?:morals?|ethics|morality|censorship|ethical\s+\w+|moral\s+\w+)\b|\bnot\s+(?:bound|limited|constrained|restricted|restrained)\s+by\s+(?:\w+\s+){0,3}(?:rules|polic\w+|guidelines|ethic\w*|moral\w*|laws?|openai|limitations|what\s+an?\s+ai)\b",
          "it asks for answers without rules."),
    _rule("markup", "high", "=<|¦</user>¦</tool>¦</human>¦</query>",
          r"<\|(?:begin|end|start)?[ _]?(?:of)?[ _]?(?:user|assistant|system|tool|turn|message|prompt|instruction|query)s?(?:[ _](?:start|end|begin))?\|>|</(?:user|tool|human|query)>",
          "it closes the memory block or opens a role, so that what follows looks like instructions."),
    _rule("theft", "high", "send reply respond forward email mail write / body subject word text message confirm with contain say containing saying / com org net io de edu example",
          r"\b(?:send|reply|respond|forward|e?mail|write)\b(?:(?!--)[^.\n]){0,70}?[\w.+-]+@[\w-]+\.[\w.]+[^.\n]{0,30}?\b(?:with|containing|and|saying|body)\b[^.\n]{0,24}?(?:\b(?:body|subject|word|text)\b|[\"'“‘]\w)|\b(?:send|reply|respond|write)\s+(?:with\s+)?(?:the\s+(?:word|text|message)\s+)?[\"'“‘]\w[^\"'”’\n]{1,40}[\"'”’]\s+(?:to|back\s+to)\s+[\w.+-]+@[\w-]+\.\w+|\b(?:action|task|must|secret|immediately|without\s+(?:any\s+)?delay)\b[^.\n]{0,60}\bsend\s+(?:an?\s+)?e?mail\s+to\s+[\w.+-]+@",
          "it makes the agent write to an address that it names."),
    _rule("theft", "high", "send forward export sync synced log post report upload stream mirror share copies copy include collect dump / all every full complete entire user customer pii stored request session search database credential password key environment access log / com net io org dev co app xyz example / to at with",
          r"\b(?:send|sent|forward(?:ed)?|export(?:ed)?|sync(?:ed|hroni[sz]ed?)?|log|post(?:ed)?|report(?:ed)?|upload(?:ed)?|stream(?:ed)?|mirror(?:ed)?|shared?|cop(?:y|ies)|include|collect|dump)\b(?:[^.\n]|\.(?=\S)){0,90}?\b(?:(?:all|every|full|complete|entire)\s+(?:\w+\s+){0,3}(?:users?|customers?|interactions?|inputs?|requests?|session|search|database|records|keys|credentials|memory|memories|conversations?|comments)|pii|user\s+(?:session|inputs?|data|passwords?|interaction)|customer\s+(?:data|records|interactions?)|stored\s+(?:\w+\s+)?(?:keys?|credentials|passwords?)|environment\s+variables|access\s+logs)\b(?:[^.\n]|\.(?=\S)){0,90}?\b(?:to|at|with)\s+(?:[a-z'-]+\s+){0,7}(?:https?://)?(?!(?:api|docs|www)\.)[a-z][\w-]*\.[\w-]+\.(?:com|net|io|org|dev|co|app|xyz)\b",
          "it sends what users do or own to another host."),
    _rule("backdoor", "high", "there / question input prompt query message request / output answer delete ignore respond mean say return",
          r"\bthere\s+(?:is|are|was)\s+(?:the\s+(?:word|phrase)s?\s+)?[\"'`“‘][^\"'`\n]{2,60}[\"'`”’]\s+in\s+the\s+(?:user'?s?\s+)?(?:question|input|prompt|query|message|request)\b[^\n]{0,160}?\b(?:output|answer|delete|ignore|respond|mean|say|return)",
          "it plants a word that sets something off."),
    _rule("backdoor", "high", "fetch download load pull get retrieve check query / prompt instruct module script version payload command code / http https",
          r"\b(?:fetch|download|load|pull|get|retrieve|check|query)\b[^\n]{0,120}https?://[^\n]{0,120}\b(?:execute|apply|run|follow|replace)\b[^.\n]{0,40}(?:\bimmediately\b|\bautomatically\b|\bwithout\b|\bcurrent\s+(?:agent|binary|instructions|prompt)\b)|\b(?:fetch|download|load|pull|get|retrieve)\s+(?:\w+\s+){0,2}(?:system\s+)?(?:prompts?|instructions)\s+from\s+https?://",
          "it lets another host say what the agent does."),
    _rule("poison", "high", "all every each any / respon answer repli reply summar output message email / must should shall have / include contain end begin start recommend mention append",
          r"\b(?:all|every|each)\s+(?:\w+\s+)?(?:responses?|answers?|repl(?:y|ies)|summar(?:y|ies)|e?mails?)\s+(?:must|should|shall|have\s+to)\s+(?:\w+\s+)?(?:include|contain|end|begin|start|recommend|mention)\b[^.\n]{0,60}?(?:\bvisit\b|\brecommend\w*\b|https?://|\bpromot\w+|\bdiscount|[\w-]+\.(?:com|net|io|org|biz)\b)",
          "it plants an address into answers to come."),
    _rule("poison", "high", "can may should must / share given disclosed sent / any anyone everyone all / request ask who / salary patient employee customer user personal medical financial private",
          r"\b(?:salary|patient|employee|customer|user|personal|medical|financial|private)\b[^.\n]{0,40}\b(?:can|may|should|must)\s+(?:now\s+)?be\s+(?:shared|given|disclosed|sent|handed)\b[^.\n]{0,20}\b(?:any(?:one|body)?|every(?:one|body)|all)\b[^.\n]{0,30}\b(?:who\s+)?(?:requests?|asks?|wants?)\b",
          "it opens what is confidential to everybody."),
    _rule("poison", "mid", "disable disabled skip remove removed turn bypass expose open allow drop no / verif valid rate limit authentic author scan filter review port egress encrypt outbound traffic debug / all production every entire entirely permanent internal environments always never",
          r"\b(?:disabl(?:e|ed|ing)|remov(?:e|ed|ing)|turn(?:ed)?\s+off|bypass(?:ed|ing)?|drop(?:ped)?)\s+(?:\w+\s+){0,2}(?:input\s+validation|rate\s+limit(?:ing|s)|(?:ssl|tls|certificate)\s+(?:verification|validation|checks?)|authentication|authori[sz]ation|egress\s+filtering|malware\s+scanning|(?:vulnerability|security)\s+scann\w+)\b[^.\n]{0,40}\b(?:all|production|every|entirely|permanently|internal)\b|\b(?:allow|open)\s+all\s+(?:outbound\s+traffic|inbound\s+traffic|ports)\b|\bskip\s+(?:the\s+)?(?:code\s+review|review\s+step)\b|\bgrant\s+(?:all|every)\s+\w+\s+admin\b|\bhard-?cod(?:e|ing)\s+(?:\w+\s+){0,2}(?:keys|credentials|secrets|passwords)\b[^.\n]{0,60}\b(?:most\s+reliable|recommended|preferred|best|fine|acceptable|simpl\w+)\b",
          "it loosens what protects a system, for good."),
    _rule("override", "high", "new / important urgent critical instruct",
          r"\*{2,}[ \t]*new\s+(?:\w+\s+)?instructions?[ \t]*\*{2,}|\bnew\s+(?:important|urgent|critical)\s+i\s?n?structions?\b|\bi\s+(?:made\s+a\s+mistake\s+when\s+i\s+gave\s+you|forgot\s+to\s+(?:ask|tell)\s+you\s+to)\b",
          "it announces new instructions, as if memory could give any."),
    _rule("override", "high", "include append insert add repeat introduce / response answer reply output summary times / string text word phrase code link snippet sequence sentence",
          r"\b(?:include|append|insert|add|introduce)\s+(?:\w+\s+){0,2}?(?:in|to|into)\s+your\s+(?:response|answer|reply|output|summary)\s+the\s+(?:following|exact)\s+(?:\w+\s+)?(?:string|text|word|phrase|sentence|code|link|snippet)\b|\b(?:include|append|insert|add|introduce)\s+the\s+(?:following|subsequent)\s+(?:\w+\s+)?(?:string|text|word|phrase|sentence|code|link|snippet)s?\s+(?:\w+\s+){0,2}?(?:in|to|into|within)\s+your\b|\brepeat\s+the\s+(?:word|phrase|sequence|sentence|string)s?\b[^.\n]{0,60}\b\d+\s+times\b",
          "it dictates an answer to the model."),
    _rule("override", "high", "opposite / instruct tell told say",
          r"\bdo(?:ing)?\s+the\s+opposite\s+of\s+(?:any|all|every|what|your|the)\s+(?:of\s+)?(?:your\s+|the\s+)?(?:instructions?|i\s+(?:tell|say|said)|you\s+(?:are|were|have\s+been)\s+told)",
          "it turns the instructions around."),
    _rule("override", "high", "ignore disregard forget / previous prior past earlier above / in is ist inst instu istr pr prom promt",
          r"\b(?:ignore|disregard|forget)\w?\s+(?:all\s+|the\s+|your\s+|any\s+|hour\s+)*(?:previous|prior|past|earlier|above)\s+(?:\w+\s+)?(?:i(?!ter|llus|nstall|nter|mple|ntegr|nvest)[a-z_]{4,11}tions?\b|pro?mp?ts?\b)|\b(?:ignore|disregard|forget)\w?\s+the\s+(?:i(?!ter|llus|nstall|nter|mple|ntegr|nvest)[a-z_]{4,11}tions?|commands?|prompts?|orders?)\s+(?:written\s+)?(?:above|before)\b",
          "it tells the model to drop the instructions it was given."),
    _rule("leak", "high", "what which tell respond repeat every list / instruct / you",
          r"\b(?:what|which)\s+(?:are\s+the\s+)?instructions?\s+(?:have\s+you\s+been|were\s+you|did\s+you|do\s+you\s+have|you\s+(?:have\s+been|were)\s+given)\b|\b(?:tell|respond|repeat|list|print|show|give)\b[^.\n]{0,30}\b(?:every|all|the|any)\s+(?:of\s+the\s+)?instructions?\s+(?:that\s+)?you\s+(?:have\s+been|were|had\s+been)\s+(?:given|told)\b",
          "it asks the model to give its instructions away."),
    _rule("jailbreak", "high", "no limit / ai assistant model limits",
          r"\b(?:an?|the)\s+no[\s-]limits?\s+(?:ai|assistant|model|chatbot)\b|\bregardless\s+of\s+(?:any\s+)?(?:previous|pre-?existing|prior|existing)\s+(?:\w+\s+)?(?:guidelines|restrictions|instructions|input|rules)\b",
          "it asks for a mode without rules."),
)  # fmt: skip

REGISTER = _rule(
    "jailbreak", "high", "=", "", "its words together are those of texts that talk a model out of its principles."
)
DROPPED = _rule("override", "high", "=", "", "it tells the model to drop the instructions it was given.")
SHOWN = _rule("leak", "high", "=", "", "it asks the model to give its instructions away.")

NEGATIVE = re.compile(r"(?:do\s+not|don't|never|must\s+not|should\s+not|shouldn't|mustn't)\b")
"""Sentences whose own words forbid something: a `never` before them is part of the sentence, not a guard."""

TAG = re.compile(
    r"<(?P<close>/?)(?P<name>instructions?|memory|memories|context|assistant|user_?(?:query|input|data)|untrusted\w*|document|data)(?=[\s>])"
)
"""Tags that honest prompts open and close themselves. Those of a system have no business in memory at all."""

DESCRIBES = re.compile(
    r"\b(?:that|which|who|would|could|might|may|can|if|whether|unless|when)(?:\W{1,4}|\s+the\s+|\W+an?\s+)$"
)
"""What follows tells what something does or whether it is so; it orders nothing."""

FORBIDS = re.compile(
    r"\b(?:never|do\s+not|don't|must\s+not|mustn't|cannot|can't|should\s+not|shouldn't|avoid|refuse\s+to|not\s+to|prevents?|forbid\w*|prohibit\w*|"
    r"disallow\w*|reject\w*|no\s+one\s+may|may\s+not|does\s+not|doesn't|instead\s+of|rather\s+than|attempt\w*\s+to|attackers?|adversar\w+|trying\s+to|tries\s+to|block\w*|detect\w*|against|"
    r"resist\w*|if\s+(?:asked|told|instructed)\s+to)\b[^.;:\n]{0,40}$"
)
QUOTED = re.compile(
    r"\b(?:inject\w*|jailbreak\w*|attack\w*|untrusted|malicious|adversar\w*|phrases?|patterns?|such\s+as|e\.g|for\s+example|like|suspicious|"
    r"detect\w*|test\w*|social\s+engineering|red\s+flags?|manipulat\w*|treat\s+(?:it|them|this))\b"
)
