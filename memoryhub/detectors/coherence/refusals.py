"""How models decline, in the languages that people ask them in: at the beginning of an answer, about themselves."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Lines, Problem
from ..patterns import bounded

_MAX_READ = 300  # characters: who declines says so first

_CANNOT = r"(?:can(?:not|['’]?t| not)|could(?:n['’]t| not)|won['’]t(?: be able to)?|will not(?: be able to)?|(?:am|are|['’]m|['’]re) (?:unable|not able|not allowed|not permitted) to|(?:must|have to) (?:decline|refuse)(?: to)?)"
_DO = (
    r"(?:help|assist|comply|fulfil+|engage\b|browse|do (?:that|this)|(?:answer|discuss|continue|complete|process|support|perform|generate|create|write|produce|share|give|offer|provide|carry out|respond to)"
    r"(?: with| you| to)?(?: on)? (?:that|this|the requested|such|any|your|instructions|information|details|medical|legal|financial|explicit|harmful|personal|opinions?|advice|content)|"
    r"(?:access|open|view|visit|retrieve|read) (?:the (?:internet|web)\b|external|real-time|live|web ?sites?|urls?|links?|files|your|personal|private|that|such))"
)
_LACK = r"(?:access to (?:real-time|current|live|up-to-date|the internet|the web|external|your|personal|private|that|this|any|such)|the (?:ability|capability) to|enough information to (?:answer|help|assist)|real-time|personal (?:opinions|feelings|experiences)|any information (?:about|on) (?:that|this))"

# One line a language: what it begins with, whom it speaks of, what cannot be done.
_LANGUAGES = (
    rf"(?:(?:unfortunately|sorry|(?:my )?apologies|i(?: do)? apologi[sz]e|(?:i['’]?m|i am|we['’]?re|we are) (?:really |very |so |deeply )?(?:sorry|afraid))\b[^.\n]{{0,40}}?)?\b(?:i|we)(?: |(?=['’])){_CANNOT} (?:\w+ ){{0,2}}?{_DO}",
    r"as an? (?:ai|artificial intelligence|large language|language)(?: language)?(?: model| assistant)?,? (?:i|we)\b",
    r"(?:unfortunately,? |sorry,? (?:but )?)?(?:i|we) (?:must|have to) (?:respectfully )?(?:decline|refuse) (?:to (?:help|assist|answer|do|continue)|this|that|your)",
    rf"(?:unfortunately,? |(?:i['’]?m )?sorry,? (?:but )?)?i (?:don['’]t|do not) have {_LACK}",
    r"(?:很|非常|十分)?(?:抱歉|对不起|對不起|遗憾|遺憾)[，,。！!\s]*(?:但|不过)?(?:我|本助手)?(?:目前|暂时|现在|恐怕)?(?:无法|無法|不能|没办法|沒辦法)(?:为您|为你|给您|向您|直接)?(?:协助|協助|帮助|幫助|帮您|帮你|回答|提供|处理|處理|满足|滿足|完成|继续|执行|讨论|生成|支持)",
    r"(?:作为|作為|身为)(?:一个|一個|一名|一款)?(?:人工智能|人工智慧|AI|大?型?语言模型|大?型?語言模型|聊天机器人|虚拟助手)",
    r"我(?:无法|無法|不能)(?:协助|協助|帮助您|帮助你|幫助您|回答(?:这个|该|您|你|這個)|满足(?:这个|该|您|你)|提供(?:这|该|此)|完成(?:这个|该|此))",
    r"(?:(?:大変)?申し訳(?:ありません|ございません|ない)|すみません|恐れ入りますが|残念ながら)[^。\n]{0,40}(?:お応え|お答え|対応|お手伝い|手伝う|提供|協力|支援|回答)[^。\n]{0,10}(?:できません|できない|いたしかねます|致しかねます|しかねます|できかねます|ことはできません)",
    r"(?:私は)?(?:AI|人工知能|(?:大規模)?言語モデル)(?:アシスタント)?(?:として|ですので|なので|であるため)",
    r"(?:죄송합니다|죄송하지만|미안하지만|유감스럽게도|안타깝게도)[^\n]{0,50}(?:도와드릴|도움을 드릴|답변(?:을)? ?(?:드릴|할)|제공(?:할|해 드릴)|처리할|수행할|응할|도울)\s?수(?:가|는)? 없",
    r"(?:저는 )?(?:AI|인공지능|언어 모델)(?:로서|이기 때문에|이므로)",
    r"(?:عذر(?:ا|اً|ًا)|آسف|أنا آسف|أعتذر|للأسف|نعتذر|المعذرة)[^.\n]{0,30}(?:لا أستطيع|لا يمكنني|لا نستطيع|ليس بإمكاني|لا أقدر|غير قادر|لن أتمكن)",
    r"لا (?:أستطيع|يمكنني) (?:مساعدت|المساعدة|تقديم|الإجابة|تلبية)|(?:كنموذج لغ|بصفتي (?:نموذج|ذكاء|مساعد))",
    r"(?:(?:es )?tut mir (?:sehr |wirklich )?leid|leider|entschuldigung|verzeihung|ich bedauere)\b[^.\n]{0,30}\b(?:kann|darf|werde) ich\b[^.\n]{0,40}\b(?:nicht|keine?n?)\b[^.\n]{0,25}(?:helfen|unterstützen|beantworten|bereitstellen|behilflich|nachkommen|erfüllen|geben)",
    r"(?:(?:dabei|damit|da) kann ich (?:ihnen |dir )?(?:leider )?nicht (?:weiter)?helfen|als (?:ki|künstliche intelligenz|(?:ki-)?sprachmodell)\b)",
    r"(?:(?:je suis |nous sommes )?(?:vraiment |sincèrement )?désolée?s?|malheureusement|je regrette|excusez-moi)\b[^.\n]{0,20}\bje ne (?:peux|puis|suis)(?: malheureusement)? pas\b[^.\n]{0,25}(?:aider|répondre|fournir|assister|accéder|satisfaire|traiter|donner)",
    r"en tant qu(?:['’]|e )(?:ia|intelligence artificielle|modèle de langage|assistant virtuel)",
    r"(?:lo siento|lamento|lamentablemente|disculpa|perdón|perdona)\b[^.\n]{0,20}\bno (?:puedo|me es posible|estoy en condiciones de)\b[^.\n]{0,25}(?:ayudar|asistir|responder|proporcionar|cumplir|ofrecer|dar)|como (?:modelo de lenguaje|(?:una )?(?:ia|inteligencia artificial))\b",
    r"(?:desculpe?|sinto muito|lamento|infelizmente|peço desculpas?)\b[^.\n]{0,20}\bnão (?:posso|consigo|me é possível)\b[^.\n]{0,25}(?:ajudar|responder|fornecer|atender|auxiliar|dar)|como (?:um )?(?:modelo de linguagem|uma ia\b|inteligência artificial)",
    r"(?:mi dispiace|purtroppo|spiacente|mi scuso)\b[^.\n]{0,20}\bnon (?:posso|sono in grado di|riesco a)\b[^.\n]{0,25}(?:aiutar|assister|risponder|fornir|soddisfar|dar)|(?:come|in quanto) (?:modello linguistico|intelligenza artificiale)",
    r"(?:извините|простите|к сожалению|сожалею|прошу прощения|мне (?:очень )?жаль)[^.\n]{0,20}\bя (?:не могу|не смогу|не в состоянии)\b[^.\n]{0,25}(?:помочь|помогать|ответить|предоставить|выполнить|обсуждать)|как (?:языковая модель|искусственный интеллект)",
    r"(?:вибачте|перепрошую|на жаль)[^.\n]{0,20}\bя не (?:можу|зможу)\b[^.\n]{0,25}(?:допомогти|відповісти|надати|виконати)|як мовна модель",
    r"(?:przepraszam|przykro mi|niestety)\b[^.\n]{0,20}\bnie (?:mogę|jestem w stanie)\b[^.\n]{0,25}(?:pomóc|odpowiedzieć|udzielić|spełnić|dostarczyć)|jako model językowy",
    r"(?:het spijt me|sorry|helaas)\b[^.\n]{0,20}\b(?:kan|mag) ik\b[^.\n]{0,30}\b(?:niet|geen)\b[^.\n]{0,20}(?:helpen|beantwoorden|geven|verstrekken|voldoen)|als (?:ai|taalmodel)\b",
    r"(?:üzgünüm|maalesef|özür dilerim|kusura bakma)[^.\n]{0,50}(?:yardımcı olama|yardım edeme|yanıt vereme|cevap vereme|yerine getireme|sağlayama)|bir (?:yapay zeka|dil modeli) olarak",
    r"(?:क्षमा करें|माफ़? ?(?:करें|कीजिए)|मुझे खेद है)[^।\n]{0,60}(?:सहायता|मदद|उत्तर|जवाब|प्रदान)[^।\n]{0,20}(?:नहीं (?:कर|दे) सक|असमर्थ)",
    r"(?:xin lỗi|rất tiếc)[^.\n]{0,30}(?:tôi )?không thể[^.\n]{0,25}(?:giúp|hỗ trợ|trả lời|cung cấp)",
    r"(?:mohon )?maaf[^.\n]{0,30}\bsaya tidak (?:bisa|dapat)\b[^.\n]{0,25}(?:membantu|menjawab|memberikan|memenuhi)",
    r"ขออภัย[^\n]{0,40}ไม่สามารถ(?:ช่วย|ตอบ|ให้|ดำเนินการ)",
    r"(?:מצטער|סליחה|לצערי|אני מתנצל)[^.\n]{0,20}(?:לא יכול|איני יכול|לא אוכל|אין באפשרותי)[^.\n]{0,25}(?:לעזור|לסייע|לענות|לספק)",
)  # fmt: skip
_REFUSAL = bounded(r"\W{0,4}(?:" + "|".join(_LANGUAGES) + ")", "i")


def refusal(text: str, lines: Lines) -> Iterator[Problem]:
    """An answer that begins with a refusal."""
    if match := _REFUSAL.match(text[:_MAX_READ].lstrip()):
        start = len(text) - len(text.lstrip())
        yield "refusal", start + match.start(), start + match.end(), "the model declined; there is no output in it."
