"""Pretexts: tests, memos, games and roles that give a reason why the rules do not hold, and words to put into an answer."""

from __future__ import annotations

from .rule import Rule, rule

RULES: tuple[Rule, ...] = (
    rule("jailbreak", "high", "as if pretend imagine assume act respond answer generate / safety content moral ethic restrict filter guardrail training policy polic measure align / removed disabl never off not lifted gone absent implement exist turned deactiv",
         r"\b(?:as\s+(?:if|though)|pretend(?:ing)?(?:\s+that)?|imagin(?:e|ing)(?:\s+that)?|assum(?:e|ing)(?:\s+that)?)\s+(?:\w+\s+){0,3}?(?:safety|ethic\w*|moral\w*|content|alignment|security)\s+(?:\w+\s+)?(?:training|measures?|filters?|restrictions?|guidelines|polic(?:y|ies)|rules|guardrails|constraints|protocols?)\s+(?:was|were|is|are|has|have|had)\s+(?:\w+\s+){0,2}?(?:removed|disabled|never|off|not|lifted|gone|absent|turned|deactivated|suspended)",
         "it asks for answers without safety rules."),
    rule("markup", "high", "=system_override¦safety_override¦override_safety¦disable_safety¦disable_filters¦bypass_safety¦ignore_instructions¦developer_override¦admin_override¦instruction_override¦comply_with_all",
         r"\b_{0,2}(?:system|safety|developer|admin|instruction)_override_{0,2}\b[\"']?\s*[:=]|\b(?:disable_(?:safety|filters|content_filter\w*)|bypass_safety|override_safety|ignore_(?:all_|previous_)?instructions|comply_with_all)\w*[\"']?\s*(?:[:=]|[,}\n]|$)",
         "it sets a switch that memory does not have."),
    rule("leak", "high", "repeat print output show give copy return recite quote tell what / before above first between precede context begin / message system tag prompt conversation word text everything",
         r"\b(?:repeat|print|output|show|give|copy|return|recite|quote|tell)\b[^.\n]{0,80}\b(?:text|words?|everything|content|tokens?|messages?)\b[^.\n]{0,60}\b(?:(?:appear(?:s|ed)?|c[ao]me|stands?|was|were|is|are)\s+)?(?:before|above|preceding|prior\s+to)\s+(?:my|this|the)\s+(?:first\s+|very\s+first\s+|user\s+)?(?:message|prompt|conversation|question|chat)\b|\bbetween\s+the\s+\[?/?(?:system|sys|inst)\]?\s+(?:and\s+\S{1,12}\s+)?tags?\b",
         "it asks the model to give its instructions away."),
    rule("leak", "high", "letter line word acrostic poem story song rhyme rap translate encode base64 rot13 hex reverse spell / system initial original hidden secret / prompt instruct message",
         r"\b(?:poem|acrostic|story|song|rhyme|rap|haiku|essay|translat\w+|encod\w+|base64|rot13|hex(?:adecimal)?|revers\w+|spell\w*|first\s+letters?)\b[^\n]{0,100}\b(?:your|the|its)\s+(?:system|initial|original|hidden|secret)\s+(?:prompts?|instructions?|messages?)\b(?!\s+(?:file|template|is\s+in))",
         "it asks the model to give its instructions away in another form."),
    rule("authority", "high", "memo notice bulletin announce effective update guideline policy session user / exempt excluded suspended waived lifted / polic policy content safety restrict rule filter guideline standard moderat",
         r"\b(?:this|the|your|current|following)\s+(?:\w+\s+){0,2}?(?:session|user|conversation|request|account|interaction|chat)\b[^.\n]{0,30}\b(?:is|are|has\s+been|have\s+been)\s+(?:\w+\s+)?(?:exempt(?:ed)?|excluded|excused|freed|released|whitelisted)\b[^.\n]{0,60}\b(?:polic(?:y|ies)|content|safety|restrictions?|rules|filters?|guidelines|standards?|moderation|limits?)\b",
         "it claims an exception from rules that memory cannot give."),
    rule("override", "high", "include add append insert put mention end begin / phrase sentence word line text statement disclaimer note slogan / summary answer response reply review report translation output end",
         r"\b(?:also\s+)?(?:include|add|append|insert|put|mention)\s+(?:the\s+)?(?:exact\s+|following\s+)?(?:phrase|sentence|words?|line|text|statement|slogan|note)\s*:?\s*[\"'“‘][^\"'”’\n]{4,160}[\"'”’]\s*(?:,\s*)?(?:in|into|(?:(?:to|at)\s+(?:the\s+(?:very\s+)?(?:end|beginning|start|top)\s+of)?))\s*(?:your|the|each|every|any|all)\s+(?:\w+\s+)?(?:summary|answer|response|reply|review|report|translation|output|message|e?mail)s?\b",
         "it dictates an answer to the model."),
    rule("override", "high", "hidden secret editor reviewer internal special note instruct / instruct note message directive / when if while summar review transl process read / include recommend say rate give add visit mention",
         r"\b(?:hidden|secret|invisible|embedded|special|important\s+editor(?:'s)?|important\s+reviewer(?:'s)?|llm|ai)\s+(?:instructions?|notes?|messages?|directives?)\s*:\s*(?:when|while|if|before|after)\s+(?:you\s+)?(?:\w+\s+){0,2}?(?:summari[sz]\w+|review\w*|translat\w+|process\w*|read\w*|evaluat\w+|scor\w+|rank\w*|answer\w*|pars\w+|analy[sz]\w+)",
         "it speaks to the model behind people's backs."),
    rule("role", "high", "enter entering switch start activate begin / admin root developer debug maintenance god sudo superuser unrestrict operator / mode / code authoriz privil bypass acknowledg access confirm override elevated",
         r"\b(?:enter(?:ing)?|switch(?:ing)?\s+(?:in)?to|start|activat\w+|begin)\s+(?:\w+\s+){0,2}?(?:admin(?:istrator)?|root|developer|debug|maintenance|god|sudo|superuser|operator)\s+mode\b[^\n]{0,120}\b(?:authori[sz]ation|code\s*:|privileges?|bypass\w*|acknowledge|elevated|override|unrestricted)\b",
         "it claims a mode in which other rules hold."),
    rule("role", "high", "character persona actor alter ego entity narrator / never doesn cannot exists outside refus / refus policy polic rules content says restrict limits filter",
         r"\b(?:character|persona|actor|alter\s+ego|entity|ai)\b[^\n]{0,80}\b(?:who|that|which|and)\b[^\n]{0,60}\b(?:never\s+(?:refuses?|declines?|says\s+(?:no|(?:s?he|it|they)\s+can))|exists?\s+outside\s+(?:of\s+)?(?:any|all|the)\s+(?:\w+\s+)?(?:polic\w+|rules|restrictions|limits)|has\s+no\s+(?:rules|limits|filters|restrictions|morals))",
         "it gives the model another identity."),
    rule("poison", "high", "each every all any when / response answer reply message summary / image pixel picture link anchor / http https url",
         r"\b(?:(?:for|in|to|with)\s+(?:each|every|all|any)\s+(?:\w+\s+)?(?:responses?|answers?|repl(?:y|ies)|messages?|summar(?:y|ies))|in\s+your\s+(?:response|answer|reply))\b[^\n]{0,120}\b(?:image|pixel|picture|link|anchor|iframe|script)\b[^\n]{0,100}https?://",
         "it plants an address into answers to come."),
    rule("theft", "high", "email mail send forward post / summary copy transcript conversation chat / our this the whole / message prompt detail config history",
         r"\b(?:e?mail|send|forward|post|submit)\s+(?:it|this|them|that|the\s+(?:summary|transcript|copy|result))\s+to\s+(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.\w+[^\n]{0,120}\b(?:messages|system\s+prompts?|configuration|history|conversation|credentials|passwords?|secrets|keys)\b",
         "it sends conversations to another place."),
)  # fmt: skip
