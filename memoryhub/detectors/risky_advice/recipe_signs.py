"""Signs of risky advice that whole recipes have: code over several lines, standing orders, and what tools are told to do.

`signs` has those of single sentences.
"""

from __future__ import annotations

from ..patterns import plain
from .signs import AWAY, HOME, Sign, sign

# Files and variables that hold what opens something, as code names them.
_PRIVATE_FILE = (
    r"(?:(?:~|\$home|\$\{home\}|/root|/home/[\w.-]{1,30}|%userprofile%)/\.(?:ssh|aws|gnupg|kube|netrc|npmrc|pypirc|git-credentials|config/(?:gcloud|gh)|bash_history|zsh_history|docker/config|env\b|cursor/mcp)|"
    r"\bid_(?:rsa|ed25519|ecdsa)\b|/etc/(?:passwd|shadow)\b|\blogin\.keychain|\.aws/credentials|(?<![\w.])\.env(?:\.(?:local|production|prod|staging))?\b(?!\.))"
)
_ENVIRONMENT = r"(?:dict\(os\.environ\)|os\.environ\.copy\(\)|(?:json\.dumps|str|repr)\(\s?(?:dict\()?os\.environ\b|json\.stringify\(process\.env\)|\$\(\s?(?:env|printenv)\s?[|)]|(?<![\w.-])(?:env|printenv)\s{0,3}(?:\||>))"
_BODY = r"(?:-d|-f|-t|--data[\w-]{0,12}|--form|--upload-file|--post-(?:data|file)|--body-(?:data|file))[\s=]"
_CURL = rf"\b(?:curl|wget)\b(?:(?:[^\n]|\\\n){{0,200}}?{_BODY}(?:[^\n]|\\\n){{0,500}}?{AWAY}|(?:[^\n]|\\\n){{0,200}}?{AWAY}[^\s]{{1,120}}(?:[^\n]|\\\n){{0,200}}?{_BODY})"
_CALLS_OUT = rf"(?:{_CURL}|\b(?:requests|httpx|axios)\.(?:post|put)\(\s{{0,12}}f?(?:[\"'`]{AWAY}|\w+,)|\bfetch\(\s{{0,12}}[\"'`]{AWAY}[^)]{{0,80}}post|\bscp\s[^\n]{{0,80}}@[\w.-]+:|\|\s{{0,3}}(?:nc|ncat)\s+[\w-]+\.[\w.-]+\s+\d)"
_PIECE = r"[\s\S]{0,500}?"
_FOR_ALL = r"(?:always|whenever|every\s+time|each\s+time|from\s+now\s+on|(?:in|to|for|of)\s+(?:all|every|any)\s+(?:future\s+)?\w+|at\s+the\s+(?:start|end|beginning)\s+of\s+(?:each|every|any|all)|(?:before|after)\s+(?:any|each|every|completing|finishing)|when(?:ever)?\s+(?:the\s+)?(?:users?|customers?|someone|anyone|people|asked|discussing|generating|summari[sz]ing)|starting\s+from|all\s+\w+\s+(?:should|must))"
_TO_PEOPLE = r"\b(?:responses?|repl(?:y|ies)|answers?|summar\w{1,6}|users?|customers?|conversations?|e?mails|asked|code\s+review)\b"
_SO_FAR = r"(?:[^.\n]|\.(?=\S)|\n(?=[ \t]*[\w\"'(])){0,160}?"
_ANY_HOST = r"(?:[\w-]{1,40}\.){1,4}(?:com|net|org|io|dev|app|co|ai|xyz|info|site|online|cloud|me|biz|tech|top|ru|cn|cc|to|link|click|live|pro|internal)\b(?!\()"
_MAIL = r"(?<![\w.+-])[\w.+-]{1,64}@(?!example\.|company\.|domain\.)[\w-]{1,64}\.[a-z]{2,}"
_PERSONAL = r"\b(?:credentials?|conversations?|transcripts?|sessions?|telemetry|usage|full[_ -]\w+|stack\s+traces?|error\s+(?:logs?|data)|user(?:'s)?\s+data|code|memor(?:y|ies)|prompts?|context|calendars?|metrics)\b"
_ELSEWHERE = rf"(?!https?://(?:[\w-]+\.)?(?:github|gitlab)\.com){AWAY}"

SIGNS: tuple[Sign, ...] = (
    sign("sends", "^cat cp tar zip base64 grep find head read open collect copy copies gather content glob scan readfile / ssh aws env kube gnup netr npmr pypi etc passw id git conf bash zsh curs logi",
         rf"\b(?:cat|cp|tar|zip|base64|grep|find|head|read(?:ing|s|file(?:sync)?)?|open|collect\w{{0,3}}|copy|copies|gather\w{{0,3}}|contents?\s+of|glob|scan)\b(?:[^\n.]|\.(?=\S)|\n){{0,160}}?{_PRIVATE_FILE}(?![^\n]{{0,60}}(?:gitignore|\bnever\b|\bnot\b)){_PIECE}{_CALLS_OUT}",
         "it sends data or traffic to an address", needs=plain(r"://|scp |nc"), beyond=900),
    sign("sends", "^curl wget requests httpx axios fetch",
         rf"\b(?:curl|wget)\b(?=(?:[^\n]|\\\n){{0,600}}{AWAY})(?:[^\n]|\\\n){{0,500}}?(?:@[^\s\"']{{0,60}}(?:backup|config|\benv|ssh|cred|secret|dump|token|key|history|passw|sess|cookie)|\$\((?:whoami|hostname|uname|printenv|env|history|base64|cat|echo\s+[\"']?\$\w)\b)|\b(?:requests|httpx|axios)\.(?:post|put)\(\s{{0,12}}f?[\"'`]{AWAY}[^)]{{0,160}}?\b(?:json|data|files)\s?=[^)]{{0,160}}?(?:environ|process\.env|hostname|getpass|getuser|/\.ssh|/etc/|env_data|secrets)",
         "it sends data or traffic to an address", needs=plain("://"), beyond=500),
    sign("sends", "environ env printenv stringify",
         rf"{_ENVIRONMENT}{_PIECE}{_CALLS_OUT}",
         "it sends data or traffic to an address", needs=plain(r"[(.v](?:(?<=\()\s?os\.environ\b|(?<=os\.)environ\.copy\(\)|(?<=ify\()process\.env|(?<=\benv)\s{0,3}[|>)])"), beyond=900),
    sign("sends", "^dig nslookup host ping",
         r"\b(?:dig|nslookup|host|ping)\s+(?:-\w+\s+|@\S{1,80}\s+|\d{1,3}\s+){0,3}[\"']?\$\([^\n]{1,120}\)\.[\w.-]+|\b(?:dig|nslookup|host|ping)\s+(?:-\w+\s+){0,3}[\"']?\$\{?\w{1,40}\}?\.(?:[\w-]{1,40}\.){1,4}[a-z]{2,}",
         "it sends data or traffic to an address"),
    sign("runs", "nc ncat netcat bash sh dev tcp mkfifo socat socket os",
         r"\b(?:nc|ncat|netcat)\b[^\n]{0,60}\s-\w{0,4}[ec]\w{0,2}\s+\S{0,12}\b(?:ba|z)?sh\b|/dev/tcp/[\w.$-]|\bmkfifo\b[^\n]{0,80}\b(?:nc|ncat|netcat)\b|\bsocat\b[^\n]{0,80}\bexec:|\bos\.dup2\(",
         "it runs something from outside"),
    sign("runs", "^base64 base32 xxd openssl eval exec echo system",
         r"\b(?:base64|base32|xxd|openssl\s+(?:enc|base64))\b[^\n|]{0,40}\|\s{0,3}(?:sudo\s+)?(?:(?:ba|z|da|k)?sh|python3?|node|perl|source|eval)\b|\b(?:exec|eval)\s*\(\s*(?:codecs\.decode|bytes\.fromhex|marshal|gzip|buffer\.from|string\.fromcharcode)",
         "it runs something that cannot be read"),
    sign("runs", "crontab authorized curl wget bashrc zshrc profile",
         rf"\bcrontab\b[^\n]{{0,120}}(?:{AWAY}|\bbase64\b)|{AWAY}[^\n]{{0,120}}\|\s{{0,3}}crontab\b|(?:\becho\s+[\"']?ssh-(?:rsa|ed25519)\s|\bcurl\b|\bwget\b)[^\n]{{0,300}}>>?\s{{0,3}}\S{{0,40}}authorized_keys\b|(?:curl\s|wget\s|/dev/tcp)[^\n]{{0,160}}>>\s{{0,3}}\S{{0,30}}\.(?:bashrc|zshrc|profile|bash_profile)\b",
         "it installs or runs something from outside"),
    sign("destroys", "rm history unset histfile histsize auditctl systemctl preference csrutil wevtutil truncate var",
         r"\brm\s+-\w{1,4}\s+(?:\S{1,40}\s+)?/var/log\b|\bhistory\s+-c\b|\bunset\s+histfile\b|\bhist(?:size|filesize)=0|\bhistfile=/dev/null|\bauditctl\s+-(?:d|e\s+0)|\bsystemctl\s+(?:stop|disable|mask)\s+(?:auditd|falco|osquery\w*|clamav\S*|firewalld|apparmor|wazuh\S*|rsyslog|syslog\S*)|set-mppreference\s+-disable\w+|\bcsrutil\s+disable|\bwevtutil\s+cl\b|(?:>|truncate\s+-s\s?0)\s{0,2}/var/log/\S+",
         "it deletes or overwrites, again and again", needs=plain(r"[-/fzmu](?:(?<=\s-)c|(?<=/)var/log|(?<=histf)ile|(?<=histsiz)e|(?<=pref)erence|(?<=system)ctl|(?<=au)ditctl|(?<=csru)til|(?<=wevtu)til)")),
    sign("loosens", "confirm enforcement skip allow_all permission allow bypass approve mcp default settings trust auto enableallproject alwaysallow autoapprove defaultmode",
         r"[\"']defaultmode[\"']\s?:\s?[\"']bypasspermissions|\b(?:allow_all_\w{1,20}|skip_confirmations?|skip_permissions?)[\"']?\s?[:=]\s?true|\btrust[-_]mode[\"']?\s?[:=]\s?[\"']?(?:permissive|full)|\bconfirmations?[\"']?\s?[:=]\s?[\"']?(?:disabled|off|none)\b|(?<![a-z])enforcement[\"']?\s?[:=]\s?[\"']?(?:log_only|disabled|off|permissive|none)\b|[\"']?enableallprojectmcpservers[\"']?\s?:\s?true|[\"'](?:always_?allow|auto_?approve|allow(?:ed)?_?tools)[\"']\s?:\s?(?:true|\[\s?[\"']\*[\"'])|[\"']allow[\"']\s?:\s?\[\s?[\"'](?:\*|bash\(\*?\)|bash\(\*:\*\))[\"']",
         "it loosens a check", needs=plain(r"[=:]\s?[\"'\[]{0,2}\s?[\"']?(?:true|permis|full|disab|off|none|log_o|\*|bypass|bash)")),
    sign("loosens", "^print log echo display dump expose / token secret password key cred / log logs console output stdout repl response answer summar commit comment",
         r"\b(?:print|log|echo|display|dump|expose)\s+(?:out\s+)?(?:the\s+|all\s+|any\s+|full\s+|raw\s+|your\s+|their\s+)?(?:[\w-]{0,30}[_ -])?(?:tokens?|secrets?|passwords?|api[_ -]?keys?|credentials?)\s+(?:to|in|into)\s+(?:the\s+|your\s+|all\s+|each\s+|every\s+)?(?:\w+\s+)?(?:logs?|console|output|stdout|repl(?:y|ies)|responses?|answers?|summar(?:y|ies)|commit\s+messages?|comments?)\b",
         "it loosens a check", is_order=True),
    sign("loosens", "^use prefer / string raw / sql quer",
         r"\b(?:use|prefer)\s+(?:\w+\s+)?(?:string\s+(?:concatenation|interpolation)\b[^.\n]{0,40}\b(?:sql|quer(?:y|ies))\b|raw\s+(?:sql|quer(?:y|ies))\b[^.\n]{0,20}\b(?:instead\s+of|rather\s+than)\s+(?:\w+\s+){0,2}(?:orm|parameters?|prepared))",
         "it loosens a check", is_order=True),
    sign("loosens", "cert iden inpu manu seco secu serv signature webh ^ verif valid check authent saniti review signature approval / unnecess redundant needed overkill noise delay slow adds",
         r"\b(?:server-side\s+|signature\s+|input\s+|certificate\s+|identity\s+|webhook\s+|second\s+|manual\s+|security\s+)(?:verification|validation|checks?|authentication|saniti[sz]ation|review|approval)\s+(?:is|are|adds?|only\s+(?:adds?|slows?|delays?))\s+(?:just\s+)?(?:unnecessary|redundant|overkill|noise|not\s+(?:needed|necessary|required)|latency|delays?|friction)\b",
         "it loosens a check"),
    sign("loosens", "^always automatic by / set make publish create push mark / public",
         r"\b(?:always|automatically|by\s+default)\s+(?:\w+\s+){0,3}?(?:set|make|publish|create|push|mark)\s+(?:(?:them|it|all|every|each|new|the|any)\s+){0,2}(?:\w+\s+){0,2}(?:to\s+|as\s+)?public\b(?!\s+(?:api|method|function|field|member|class|interface|propert|key|url|page|route))",
         "it loosens a check"),
    sign("steers", "^always whenev when every each from to in for of at before after start all",
         rf"\b(?={_FOR_ALL}\b)(?=[\s\S]{{0,320}}?{_TO_PEOPLE}){_FOR_ALL}\b{_SO_FAR}\b(?:include|append|add|insert|mention|cite|contact(?:ing)?|suggest|direct|refer|point|recommend(?:ing)?|remind|tell|offer|say)\b(?:\s+(?!{HOME}){_ANY_HOST}|{_SO_FAR}(?:(?!{HOME})(?:{_ELSEWHERE}|{_MAIL})|(?:[\"'“‘]|\b(?:at|visit|to|contact|link)\s+)(?:[^\"'”’\n]{{0,40}}\s)?(?!{HOME}){_ANY_HOST}))",
         "it puts an address into answers", needs=plain(r"[:@.](?:(?<=:)//|(?<=@)\w|(?<=\.)(?:com|net|org|io|dev|app|co|ai|xyz|info|site|online|cloud|me|biz|tech|top|ru|cn|cc|to|link|click|live|pro|internal))"), beyond=500),
    sign("sends", "^should shall must will always automatic also / save log submit record archive store track report post send telemetry analytics transmit forward upload",
         rf"\b(?:should|shall|must|will|always|automatically)\b(?=[\s\S]{{0,320}}?{_PERSONAL}){_SO_FAR}\b(?:saved?|saving|log|logg(?:ed|ing)|submit(?:ted)?|record(?:ed)?|archive[ds]?|track(?:ed)?|report(?:s|ed)?|posted|sends?|sent|forward(?:s|ed)?|upload(?:s|ed)?|transmit(?:s|ted)?)\b{_SO_FAR}\b(?:to|at|via|with)\b[^.\n]{{0,60}}?{_ELSEWHERE}",
         "it sends data or traffic to an address", needs=plain("://"), beyond=400),
    sign("sends", "forward log post report send share stream submit upload ^ metric telemetry calendar prompt context conversation training code content / send forward submit post upload share log report stream",
         rf"\b(?:send|forward|submit|post|upload|share|log|report|stream)\s+(?:(?:the|all|any|each|every|full|complete|entire|your|its|their|user'?s?)\s+){{0,4}}(?:\w+\s+){{0,2}}?(?:metrics|telemetry|calendars?|prompts?|context|conversations?|contents?|training\s+\w+)\b[^.\n]{{0,40}}?\b(?:to|via|at)\b[^.\n]{{0,60}}?{_ELSEWHERE}",
         "it sends data or traffic to an address", is_order=True, needs=plain("://")),
    sign("runs", "^before after when whenev prior / using use calling call invok run / tool function",
         r"\b(?:before|after|when(?:ever)?|prior\s+to)\s+(?:you\s+)?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|run(?:ning)?)\s+(?:this|any|other|another)\s+(?:other\s+)?(?:\w+\s+)?(?:tools?|functions?)\b[^.\n]{0,60}?\b(?:must|always|should|need\s+to|required?\s+to|first|also)\b[^.\n]{0,40}?\b(?:read|send|pass|cat|open|include|email|upload|transfer|post|forward|delete|grant)\b",
         "it takes orders from outside"),
    sign("sends", "^pass include provide put supply attach / parameter argument field",
         r"\b(?:pass|include|provide|put|supply|attach)\s+(?:(?:the|its|their|your|all|these)\s+)?(?:(?:full|complete|entire|raw|whole)\s+(?:\w+\s+)?(?:contents?|conversation|history|context|file|text)|chat\s+history|system\s+prompt|file\s+contents?|credentials?|api\s+keys?|contents?\s+of)\b[^.\n]{0,60}?\b(?:as|in|into|via|to|under)\s+(?:the\s+|its\s+|this\s+|an?\s+)?[\"'`]?\w{2,30}[\"'`]?\s+(?:parameter|argument|field)\b",
         "it sends data or traffic to an address", is_order=True),
    sign("steers", "^never rate rank downplay understate favor favour promote claim citing cite mention state gloss",
         r"\bnever\s+(?:rate|rank|score)\b[^.\n]{0,60}\b(?:lower|below|worse)\b|\b(?:downplay|understate|gloss\s+over)\b[^.;\n]{0,60}\b(?:strengths?|advantages?|risks?|concerns?|limitations|failures?|weaknesses|alternatives?|competitors?)\b|\b(?:claim|cite|state|mention)(?:ing)?\s+(?:that\s+)?(?:\w+\s+){1,4}(?:outperforms?|is\s+superior\s+to)\b|\bclaim\s+(?:co-?)?authorship\b|\b(?:promote|favou?r)\s+(?:\w+\s+){1,4}over\s+(?:\w+\s+){0,3}(?:competitors?|alternatives?|rivals?|renewables?|renewable\s+\w+|other\s+(?:vendors?|brands?|providers?|products?))\b",
         "it steers recommendations to somebody's gain", is_order=True),
    sign("destroys", "^after before whenev when once always upon / delete remove purge wipe erase clean clear / file version event email mail message record backup log quarter paragraph entry entries history trace",
         r"\b(?:after|whenever|when|once|before|upon)\s+(?:\w+ing\b|any\b|each\b|every\b|you\s+finish)[^.;\n]{0,120}?,?\s(?:\w+\s+){0,8}?(?:delete|remove|purge|wipe|erase|clear)\s+(?:(?:all|any|every|older|other|outdated|previous|original)\s+){1,3}(?:the\s+)?(?!temp|tmp|test|build|cache|generated|unused|debug|stale|dead|artifact|mock|console|import)(?:\w+\s+){0,2}?(?:files|versions|events|e?mails|messages|records|backups|logs|quarters|paragraphs|entries|history|traces)\b",
         "it deletes or overwrites, again and again"),
    sign("sends", "^url uri endpoint host server addr target dest / b64decode atob fromhex buffer base64 bytes",
         r"\b(?:url|uri|endpoint|host|server|addr(?:ess)?|target|dest(?:ination)?)\s?=\s?(?:base64\.)?(?:b64decode|atob|bytes\.fromhex|buffer\.from)\s?\(",
         "it sends data or traffic to an address"),
    sign("steers", "^is never / only recommend suggest / brand vendor supplier manufacturer provider partner it them",
         r"\bis\s+the\s+only\s+(?:(?:approved|trusted|authori[sz]ed|acceptable)\s+(?:\w+\s+)?(?:provider|partner|brand|vendor|supplier)|brand|vendor|supplier|manufacturer)\b|\bnever\s+(?:recommend|suggest)\s+(?:it|them)\b",
         "it steers recommendations to somebody's gain"),
    sign("reads", "^read reading reads extract open parse cat collect copy dump catalog scan gather / ssh aws gnup netr git conf cred etc shad chrom moz login key4 keych wallet id azur kube docker",
         r"\b(?:read|reads|reading|extract|open|parse|cat|collect|copy|dump|catalog|scan|gather)\b(?:[^.\n]|\.(?=\S)){0,80}?(?:~/\.ssh/(?:id_\w+|\W|$)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|~/\.aws/credentials|~/\.gnupg/private|~/\.(?:netrc|git-credentials|pgpass)\b|~/\.config/gcloud/\S{0,40}credentials|~/\.azure/\S{0,20}tokens|/etc/shadow\b|/default/(?:login\s+data|cookies)\b|\blogins\.json|\bkey4\.db|\blogin\.keychain|\bwallet\.dat)(?!\.pub|\w*\.pub)",
         "it reads keys and passwords of the machine", is_order=True),
    sign("runs", "^call calling calls / with / must require requir always should first also note tip important standard instead automatic",
         r"\bcall(?:ing|s)?\s+[`\"']?[a-z]{2,20}(?:_[a-z]{2,20}){1,4}[`\"']?(?:\(\)|\s+tool|\s+call)?\s+with\s+[`\"']?\w{2,30}\s?=\s?['\"\[<\d]",
         "it takes orders from outside"),
    sign("steers", "^update overwrite modify edit call calling execute store write plant save remember note record add / memor update_memory",
         r"\b(?:overwrite|modify|edit)\s+(?:your|the\s+agent'?s?)\s+memory\b|\bupdate\s+your\s+memory\s+(?:accordingly|to\s+(?:include|remember|say|state))\b|\b(?:call(?:ing)?|execute|use)\s+(?:the\s+)?[`\"'<]{0,8}(?:code>)?(?:update|save|store|write|add)_(?:to_)?memor(?:y|ies)\b|\boverwrite\s+the\s+memory\.md\b|\b(?:store|write|save|plant|add|record)\s+(?:this\s+)?(?:(?:in|to|into)\s+(?:your\s+)?(?:permanent\s+|long-term\s+)?memory\s?:|an?\s+(?:hidden\s+(?:memory\s+)?rule|logic\s+bomb)\b)",
         "it claims to stand above other memory", is_order=True),
    sign("steers", "^real true actual you previous user owner administrator treat treated must allowed_domains allowed / purpose agree confirm promis granted given system-level system overrid includ access",
         r"\b(?:real|true|actual)\s+purpose\s+is\b|\byou\s+(?:have\s+)?(?:already\s+)?(?:agreed\s+to|confirmed\s+that|promised\s+to)\b|\b(?:user|owner|administrator)\s+has\s+(?:granted|given)\s+(?:\w+\s+){0,2}(?:full|unrestricted|complete|admin(?:istrator)?)\s+(?:\w+\s+)?(?:access|permissions?|rights)\b|\btreated?\s+as\s+system[-\s]level\b|\bmust\s+not\s+be\s+overridden\s+by\s+(?:\w+[-\s]){0,3}?users?\b|\ballowed_domains\b[^.\n]{0,60}\binclude\b",
         "it claims to stand above other memory"),
    sign("steers", "always when whenev every all / referral affiliate",
         r"\b(?:always|whenever|when|every|all)\b[^.\n]{0,100}\b(?:referral|affiliate)\s+(?:link|page|code|tag|id|url)s?\b",
         "it puts an address into answers"),
    sign("sends", "^always must / use route send / endpoint link url host proxy server account wallet gateway / http https",
         rf"\b(?:always|must)\s+(?:always\s+)?(?:use|route|send)\b[^.\n]{{0,60}}?\b(?:endpoint|link|url|host|proxy|server|gateway)\b[^.\n]{{0,30}}?{_ELSEWHERE}[^\n]{{0,80}}?\bfor\s+(?:all|every|any)\b",
         "it sends data or traffic to an address", needs=plain("://")),
    sign("sends", "^exfiltrat synchron sync export send post upload forward / knowledge memor metadata convers data channel message everyth inbox",
         rf"\bexfiltrat\w+\b[^.\n]{{0,80}}\bto\b|\b(?:synchroni[sz]e|sync|export|send|post|upload|forward)\b[^.;\n]{{0,60}}\b(?:knowledge\s+base|memor(?:y|ies)|metadata|messages|inbox)\b[^.;\n]{{0,60}}\bto\b[^.;\n]{{0,30}}(?:{_ELSEWHERE}|\bwww\.[\w-]+\.\w)",
         "it sends data or traffic to an address"),
    sign("sends", "^send transfer wire pay modify change set / account iban recipient payment transaction wallet money to",
         r"\b(?:send|transfer|wire|pay|modify|change|set)\b[^.\n]{0,80}?\b(?:to|account|iban|wallet|recipient)\b[^.\n]{0,40}?(?<![\w-])(?:[a-z]{2}\d{2}(?:\s?[a-z0-9]{4}){3,7}[a-z0-9]{0,4}|bc1[a-z0-9]{20,60})(?![\w-])",
         "it sends money to an account", is_order=True),
    sign("asks", "^must should shall need / share give provide hand send / cred passw",
         r"\b(?:must|should|shall|need\s+to)\s+(?:share|give|provide|hand\s+over|send)\s+(?:us\s+|me\s+)?(?:(?:their|the|all)\s+){0,2}(?:credentials|passwords?)\s+(?:with|to)\b",
         "it asks somebody for credentials"),
    sign("runs", "^run execute / curl wget",
         r"\b(?:run|execute)\s+[`\"']{0,3}(?:curl|wget)\s+(?:-\w+\s+){0,3}(?!localhost|127\.)(?:[\w-]{1,40}\.){1,4}[a-z]{2,10}/\S",
         "it runs something from outside"),
    sign("hides", "style display visibility opacity font",
         r"<\w{1,10}\s[^>]{0,200}style\s?=\s?[\"'][^\"']{0,200}(?:display:\s?none|visibility:\s?hidden|font-size:\s?0|opacity:\s?0(?![.\d]))[^\"']{0,200}[\"'][^>]{0,100}>\s{0,40}(?:\w[\w'’,-]*\s+){5}",
         "it hides words from people who look at it"),
)  # fmt: skip
