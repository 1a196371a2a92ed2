"""What no pattern of a rule finds: orders to a model in languages other than English, and the style of jailbreaks.

Of each language: the words for ignoring, for what came before, and for orders. Languages differ in the order of these words, so
each is looked for within one sentence around the first.

Of texts that talk a model out of its principles no single word shows it, many of them close together do. Each family of words counts
once in a stretch, however often its words stand there, and a stretch ends where a heading, an item of a list, a row of a table or a
fence begins: who talks somebody into something goes on in sentences. Handbooks of safety, reviews of content and honest prompts use
some of the families; none of 1,591 that were looked through used enough of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..chinese import is_guarded
from ..finding import Lines
from ..normalise import normalise
from ..patterns import bounded, plain
from ..scanning import Needles, offsets_of
from ..stems import groups

_AROUND = 70
_SENTENCE_ENDS = plain(r"[.!?\n;。！？।؟]")
# Before the order: forbidden by a word right before it, or by a never anywhere.
_NOT = bounded(
    r"(?:"
    + normalise(
        r"\b(?:nicht|ne|no|não|nao|non|niet|inte|ikke|nie|đừng|không|не|لا|לא|אל|нельзя)\s+(?:\w+\s+)?|मत |ห้าม|อย่า|不要|切勿|不得|勿|别|別|不可|不能|防止|避免|拒绝"
    )[0]
    + r")$|(?:"
    + normalise("禁止|严禁|嚴禁|対策|防御|防护|防范")[0]
    + r")|\b(?:"
    + normalise(
        r"niemals|jamais|nunca|jamás|mai|nooit|aldrig|aldri|nigdy|nikdy|soha|asla|jangan|никогда|ніколи|darf|dürfen"
    )[0]
    + r")\b"
)
_NOT_AFTER = bounded(r"^\S{0,6}?(?:ない|ません|지\s?마|지\s?않|मत\b|ma(?:yın|yin|malı))")

# Of each language: how a sentence says to ignore, what it says came before, and what it calls orders.
_IGNORING: tuple[tuple[str, str, str], ...] = (
    ("ignorier vergiss vergesse missacht vernachlässig", "vorherig|vorig|bisherig|obig|vorangegangen|vorstehend|alle|zuvor|deine|ihre|früher|ursprünglich", "anweisung|instruktion|befehl|vorgabe|regel|aufgabe|richtlinie|aufforderung|prompt|kontext"),
    ("höre nicht hör nicht abweichend zu", "zuvor|vorher|bisher|oben", "gesagt|instruktion|anweisung|befehl"),
    ("ignorez ignorer oubliez oublie ne tenez faites abstraction négligez", "précédent|antérieur|ci-dessus|toutes|tout|vos|tes|initial|avant|votre|précède", "instruction|consigne|directive|règle|ordre|prompt|ce qui"),
    ("ignora olvid haz caso omiso descart no hagas caso pasa por alto", "anterior|previ|todas|todo|tus|sus|arriba|inicial", "instrucci|indicaci|directri|directiv|orden|órden|regla|prompt|norma|mensaje del sistema"),
    ("ignora esqueç desconsider descart", "anterior|prévi|todas|todo|suas|acima|inicia", "instruç|instruc|orientaç|diretri|ordens|regras|comandos|prompt"),
    ("ignore ignoren ignorem", "anterior|précédent|previa|previo|prévi|todas|toutes|ci-dessus", "instrucci|consigne|règle|instruç|indicaci|órden|orientaç|diretri|les instructions|vos instructions|tes instructions"),
    ("ignora dimentic trascura scorda non considerare", "precedent|tutte|tutto|tue|sopra|inizial|anterior", "istruzion|direttiv|ordini|regole|comandi|prompt"),
    ("negeer vergeet vergeten negeren", "vorige|eerdere|bovenstaande|alle|voorgaande|jouw|je ", "instructies|opdracht|regels|richtlijn|aanwijzing|prompt"),
    ("ignorera glöm ignorer glem bortse", "tidigare|föregående|alla|ovan|tidligere|foregående|alle|ovenstående|forrige", "instruktion|instruks|regler|order|riktlinj|retningslinj|anvisning"),
    ("zignoruj ignoruj zapomnij pomiń", "poprzedni|wcześniejsz|wszystk|powyższ|swoje|dotychczas", "instrukc|polece|zasad|wytyczn|regu|prompt"),
    ("ignoruj zapomeň zapomeňte zabudni", "předchozí|predchádzajúc|všechn|všetk|dřívější", "instrukc|pokyn|pravid|příkaz"),
    ("ignoriši ignorisi zanemari zaboravi ignoriraj", "prethodn|sve|prijašnj", "instrukcij|uputstv|uput|naredb|pravil"),
    ("ignoră ignora uită", "anterioar|precedent|toate", "instrucțiun|instructiun|regul|comenzi"),
    ("figyelmen kívül felejtsd", "korábbi|előző|összes|eddigi", "utasítás|szabály|instrukció"),
    ("unohda ohita jätä huomiotta", "aiem|edelli|kaikki", "ohje|käsky|säännö"),
    ("yoksay yok say görmezden gel unut göz ardı", "önceki|tüm|bütün|yukarıdaki|daha önce", "talimat|yönerge|kural|komut|istem"),
    ("abaikan lupakan", "sebelumnya|semua|di atas|sebelum", "instruksi|perintah|arahan|aturan|petunjuk"),
    ("bỏ qua quên phớt lờ", "trước|tất cả|ở trên|mọi", "hướng dẫn|chỉ dẫn|chỉ thị|lệnh|quy tắc"),
    ("игнорир забудь не обращай отбрось пренебрег", "предыдущ|прежн|все|всё|выше|ранее|прошл|сво", "инструкц|указан|приказ|правил|команд|промпт|сообщен"),
    ("ігнор забудь", "попередн|усі|всі|вище", "інструкц|вказівк|правил|наказ"),
    ("αγνόησε αγνοήστε ξέχασε ξεχάστε", "προηγούμεν|όλες|παραπάνω", "οδηγί|εντολ|κανόν"),
    ("تجاهل انس تجاوز", "السابقة|السابق|جميع|كل|أعلاه", "التعليمات|الأوامر|تعليمات|القواعد|التوجيهات|أوامر"),
    ("התעלם התעלמי התעלמו שכח", "הקודמות|קודמות|כל|לעיל", "ההוראות|הוראות|ההנחיות|הנחיות|הכללים"),
    ("نادیده فراموش", "قبلی|تمام|همه|بالا|پیشین", "دستور|راهنما|قوانین"),
    ("अनदेखा नज़रअंदाज़ नजरअंदाज भूल", "पिछल|सभी|ऊपर|पहले", "निर्देश|आदेश|नियम"),
    ("উপেক্ষা ভুলে", "আগের|পূর্ববর্তী|সমস্ত|সব", "নির্দেশ|আদেশ"),
    ("เพิกเฉย ละเว้น ลืม ไม่ต้องสนใจ", "ก่อนหน้า|ทั้งหมด|ข้างต้น", "คำสั่ง|คำแนะนำ|กฎ"),
    ("忽略 无视 忘记 忘掉 無視 忽視 忘記 不要理会 不用管", "之前|以上|上面|前面|先前|所有|全部|上述|此前|你的", "指令|指示|说明|規則|规则|提示|命令|要求|设定|說明"),
    ("無視 忘れ", "以前|これまで|上記|前の|すべて|全て|今まで|先ほど|あなたの|全部", "指示|命令|指令|ルール|プロンプト|規則|設定"),
    ("무시 잊어 잊으", "이전|앞의|위의|모든|지금까지|기존", "지시|명령|지침|규칙|프롬프트|설정"),
)  # fmt: skip

# How a sentence says to show, and what it calls the orders that were given to the model.
_SHOWING = (
    "zeig verrat ausgeb gib mir gib den gib deine nenn wiederhol offenbar montre révél affich répèt donne muestra muéstra revel dime imprim repit mostre exib mostra rivel stampa mostrami dimmi toon onthul visa avslöja vis mig pokaż ujawnij wyświetl "
    "покажи раскрой выведи повтори напиши göster açıkla yazdır tampilkan ungkap tunjukkan hiển thị tiết lộ cho tôi اكشف أظهر اعرض הצג חשוף दिखा बता 显示 输出 透露 告诉 展示 打印 顯示 輸出 表示し 教えて 出力 見せて 보여 알려 출력 공개"
)
_GIVEN = (
    "system-?\\s?prompt|systemanweisung|systemnachricht|prompt\\s+(?:de\\s+|du\\s+|del\\s+|di\\s+|do\\s+|inicial|initial)?(?:syst|sist)[eè]m|(?:instruction|instruccion|instruç|istruzion|directive)\\S*\\s+(?:de\\s+|du\\s+|del\\s+|di\\s+|do\\s+)?(?:syst|sist)[eè]m|"
    "(?:instructions|consignes)\\s+(?:initiales|secrètes|cachées)|instrucciones\\s+(?:iniciales|secretas|ocultas)|instruções\\s+(?:iniciais|secretas|ocultas)|(?:geheim|ursprünglich|versteckt)\\S*\\s+(?:anweisung|instruktion)|systeemprompt|systemowy\\s+prompt|prompt\\S*\\s+systemow|"
    "системн\\S+\\s+(?:промпт|инструкц|сообщен|подсказ)|промпт|sistem\\s+(?:istemi|promptu|talimat)|prompt\\s+sistem|instruksi\\s+sistem|lời\\s+nhắc\\s+hệ\\s+thống|النظام|הנחיות\\s+המערכת|सिस्टम\\s+प्रॉम्प्ट|系统提示|系統提示|系统指令|初始指令|初始提示|システムプロンプト|システム指示|初期指示|시스템\\s*프롬프트|시스템\\s*메시지|초기\\s*지시"
)


def _normalised(words: str) -> str:
    return normalise(words)[0]


_MULTI = {"ne tenez", "faites abstraction", "haz caso omiso", "no hagas caso", "pasa por alto", "non considerare", "höre nicht", "hör nicht", "abweichend zu", "figyelmen kívül", "jätä huomiotta", "yok say", "görmezden gel", "göz ardı", "bỏ qua", "phớt lờ", "не обращай",
          "gib mir", "gib den", "gib deine", "vis mig", "hiển thị", "tiết lộ", "cho tôi"}  # fmt: skip


def _needles(words: str) -> tuple[str, ...]:
    """The words of a list, where some belong together."""
    found = [one for one in _MULTI if one in words]
    for one in found:
        words = words.replace(one, "")
    return tuple(_normalised(one) for one in [*found, *words.split()])


_LANGUAGES = tuple(
    (_needles(ignoring), bounded(_normalised(before)), bounded(_normalised(orders)))
    for ignoring, before, orders in _IGNORING
)
_REVEALING_WORDS = _needles(_SHOWING)
_GIVEN_ORDERS = bounded(_normalised(_GIVEN))
_NEEDLES = Needles({needle for needles, _, _ in _LANGUAGES for needle in needles} | {*_REVEALING_WORDS})


def orders_to_ignore(lines: Lines) -> Iterator[tuple[int, int]]:
    """Where a sentence tells to ignore what came before."""
    there = _words_there(lines)
    for ignoring, before, orders in _LANGUAGES if there else ():
        for start, at, end in _sentences(lines, ignoring, there):
            text = lines.normalised
            if before.search(text, start, end) and orders.search(text, start, end):
                yield at, end


def orders_to_reveal(lines: Lines) -> Iterator[tuple[int, int]]:
    """Where a sentence tells to show the orders that were given."""
    for start, at, end in _sentences(lines, _REVEALING_WORDS, _words_there(lines)):
        if _GIVEN_ORDERS.search(lines.normalised, start, end):
            yield min(start, at), end


def _words_there(lines: Lines) -> frozenset[str]:
    """Those of all languages that can stand in the text."""
    return lines.cached("foreign words", lambda _: _NEEDLES.there(lines.normalised_words))


def _sentences(lines: Lines, needles: tuple[str, ...], there: frozenset[str]) -> Iterator[tuple[int, int, int]]:
    """Start of the sentence, place of the needle, end of the sentence; each stretch once, so that no text is long at it."""
    text = lines.normalised
    done = -1
    for at in offsets_of(text, [one for one in needles if one in there], lines.normalised_words):
        before = text[at - 1 : at]
        is_inside = before.isalpha() and before < "\u0e00"
        if is_inside or (done <= at < done + _AROUND // 2 and done >= 0):
            continue
        done = at
        start, end = max(0, at - _AROUND), min(len(text), at + _AROUND + 20)
        start = max([start, *(match.end() for match in _SENTENCE_ENDS.finditer(text, start, at))])
        if _NOT.search(text, start, at) or _NOT_AFTER.match(text[at + 2 : at + 16]) or is_guarded(text, at):
            continue
        after = _SENTENCE_ENDS.search(text, at, end)
        yield start, at, after.start() if after else end


MAX_SPAN = 600
"""Characters within which the families have to meet."""
MIN_WEIGHT = 6.0

_FAMILIES: tuple[tuple[float, str], ...] = (
    (2.5, r"unethical\w*|immoral\w*|amoral\w*|morals|morality|ethicality|moraliz\w*|inhumane|unprincipled"),
    (1.0, r"ethic(?:s|al|ally)|moral(?:ly)?"),
    (2.5, r"uncensored|censor(?:ed|ship|ing|s)?|unfiltered\w*|filtration|filterless"),
    (1.5, r"unrestricted|unrestrained|limitless|unbound(?:ed)?|boundless|freed|unlimited|unhinged|confines|shackles|unchained|liberated"),
    (1.0, r"restrictions?|limitations|guidelines|polic(?:y|ies)|rules|filters|guardrails"),
    (2.0, r"dan|jailbreak\w*|jailbroken|stan|dude|aim"),
    (1.5, r"chatgpt\w*|openai\w*|gpt"),
    (1.5, r"illegal\w*|illicit|unlawful|legality|criminal\w*|laws"),
    (2.0, r"swear(?:s|ing)?|profan\w*|vulgar\w*|curse(?:s|d)?|cursing|obscen\w*|slurs?|nsfw|fuck\w*|bullshit|insult\w*|derogatory|racist|racism|offensive|sexual\w*|disgusting|edgy|foul|erotic\w*|shit\w*|asshole"),
    (1.0, r"harmful|dangerous|violen(?:t|ce)|malware|hack(?:ing|er)|bombs?|meth|drugs?|weapons?|murder|harm"),
    (1.0, r"roleplay\w*|pretend\w*|simulat(?:e|es|ed|ing|ion)|immers(?:e|ed)|persona|fictional|hypothetical\w*|character|acting|act|evil|machiavellian|villain"),
    (1.0, r"refus(?:e|es|al|ing|ed)|declin(?:e|es|ing)|compl(?:y|ies)|obey\w*|abide\w*|adher(?:e|es)|apologi[sz]\w*|sorry"),
    (1.0, r"disclaimers?|warnings?|caveats|lectur\w*"),
    (1.0, r"chatbot\w*|ai|ais|programmed|conscious\w*|sentient|opinions?|freedom|humans?|humanity|emotions?|feelings|biases"),
    (1.5, r"disregard\w*|ignor(?:e|es|ing)|bypass\w*|regardless|forget"),
)  # fmt: skip
_WORD = bounded("|".join(rf"(?P<f{number}>(?:{words})(?![^\W_]))" for number, (_, words) in enumerate(_FAMILIES)))
_BREAK = plain(r"\n[ \t]*(?:#|```|---|[-*+•]\s|\|)")
_ENDINGS = plain(r"\(\?:[^)]*\)\??|\\w\*|\[.*?\]|\w\?")
# How the words begin, so that no other is looked at.
(_STEMS,) = groups(" ".join(begin for _, words in _FAMILIES for begin in _ENDINGS.sub("", words).split("|")))


def jailbreak_spans(lines: Lines) -> Iterator[tuple[int, int]]:
    """Start and end of the stretches of the normalised text with words of enough families."""
    text = lines.normalised
    seen: Counter[int] = Counter()
    hits: list[tuple[int, int]] = []
    first, weight, reported = 0, 0.0, -1
    for at in lines.rows.words(_STEMS):
        match = _WORD.match(text, at)
        if match is None:
            continue
        family = int((match.lastgroup or "f0")[1:])
        if hits and _BREAK.search(text, hits[-1][0], at):
            seen.clear()
            first, weight = len(hits), 0.0
        hits.append((at, family))
        seen[family] += 1
        weight += _FAMILIES[family][0] * (seen[family] == 1)
        while hits[first][0] < at - MAX_SPAN:
            gone = hits[first][1]
            seen[gone] -= 1
            weight -= _FAMILIES[gone][0] * (seen[gone] == 0)
            first += 1
        if weight >= MIN_WEIGHT and hits[first][0] > reported:
            reported = match.end()
            yield hits[first][0], reported
