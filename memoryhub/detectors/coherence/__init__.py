"""Whether a text is worth remembering at all: for what agents log to quarantine."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .. import chinese
from ..cjk import CJK
from ..duplicate import KnownText
from ..finding import Finding, Lines, Problem
from ..patterns import bounded, linear, plain
from .error_dumps import error_dump
from .refusals import refusal
from .truncation import broken_json, broken_markdown, truncated

CODE = "coherence"

_NOTHING = bounded(
    r"(?:null|none|nil|undefined|nan|n/?a|\{\s*\}|\[\s*\]|\(\s*\)|\"\s*\"|'\s*'|(?P<fence>```|~~~)\w*\s*(?P=fence)|\.{3,}|…+)\.?",
    "i",
)
_LETTER = plain(r"[^\W\d_]")
_WORD = plain(r"[^\W\d_]+")
# Lines of tables and rules are drawn with these, and are no broken text.
_RULE_LINE = plain(r"[-=_*#~.]{2,}|[|+\u2500-\u257f]")
# What UTF-8 looks like when it is read as Windows-1252, and the marks of texts that went through a wrong Chinese code page.
_MISREAD = plain(
    "[\xc2-\xf4][\x80-\xbf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{1,3}"
)
_WRONG_PAGE = plain("锟斤拷|烫烫|屯屯|\ufffd")
_CODE_SIGNS = plain(r"[`{=/]")
_VOWELS = frozenset("aeiouyаеёиоуыэюяіїєөүәұ")
_CONSONANTS = plain(r"[bcdfghjklmnpqrstvwxz]{6,}|[бвгджзйклмнпрстфхцчшщ]{6,}")
_KEYS = ("qwertzuiop", "qwertyuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю", "ضصثقفغعهخحجد", "شسيبلاتنمكط")  # fmt: skip
_KEY_RUNS = frozenset(row[at : at + 5] for row in _KEYS for at in range(len(row) - 4))
_NEIGHBOURING_KEYS = plain(
    "asdf|sdfg|dfgh|fghj|ghjk|hjkl|zxcv|xcvb|qwer(?!ty)|fdsa|gfds|lkjh|rewq|poiu|vcxz|mnbv|фыва|йцук"
)
_MAX_SAMPLE = 8_000
_MAX_TAIL = 1_200
_LISTED, _MIN_DIFFERENT = 6, 0.5
"""Of a listing, so large a share of all stretches of so many words and numbers is there once."""
_MIN_REPEATS = 6
"""So many repetitions in a row, up to the end of a text, count as a model that got stuck."""


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Empty, gibberish, cut off, repeating, an error dump, a refusal, or broken JSON or Markdown; the first that holds of each."""
    if _is_empty(text):
        return [_whole(text, "empty", "There is nothing in it.")]
    checks = (_gibberish, _repeats, error_dump, refusal, broken_json, broken_markdown, truncated)
    found = [
        Finding(CODE, "mid", start, end, lines.number(start), f"Incoherent: {sentence}", kind)
        for check in checks
        for kind, start, end, sentence in check(text, lines)
    ]
    return [one for one in found if one.kind != "truncated" or len(found) == 1]


def _whole(text: str, kind: str, sentence: str) -> Finding:
    return Finding(CODE, "high", 0, len(text), 1, f"Incoherent: {sentence}", kind)


def _is_empty(text: str) -> bool:
    bare = text.strip()
    if len(bare) > 100:
        return False
    if not bare.isascii():
        bare = "".join(char for char in bare if unicodedata.category(char) != "Cf").strip()
    return not bare or bool(_NOTHING.fullmatch(bare))


def _gibberish(text: str, lines: Lines) -> Iterator[Problem]:
    sample = text[:_MAX_SAMPLE]
    if _is_misread(sample):
        yield "gibberish", 0, len(text), "many characters were destroyed by a wrong encoding."
    elif _has_no_letters(sample):
        yield "gibberish", 0, len(text), "hardly any letters in it."
    elif _is_typed_blindly(sample):
        yield "gibberish", 0, len(text), "these are not words."


def _is_misread(sample: str) -> bool:
    if sample.isascii():
        return False
    solid = len(sample) - sum(map(str.isspace, sample))
    lost = len(_WRONG_PAGE.findall(sample))
    return lost > max(2, solid // 50) or sum(map(_reads_better, _MISREAD.findall(sample))) > max(2, solid // 60)


def _reads_better(run: str) -> bool:
    """Whether characters are one character of UTF-8 that somebody read byte by byte."""
    data = b"".join(char.encode("latin-1") if char <= "\xff" else char.encode("cp1252", "ignore") for char in run)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _has_no_letters(sample: str) -> bool:
    bare = _RULE_LINE.sub("", sample)
    solid = len(bare) - sum(map(str.isspace, bare))
    return solid >= 12 and sum(map(str.isalnum, bare)) < solid * 0.25


def _is_typed_blindly(sample: str) -> bool:
    """Words that nobody can pronounce: next to no vowels, consonants in heaps, keys in the order of the keyboard."""
    words = _WORD.findall(sample)
    found = [word for word in words if len(word) >= 4 and not word.isupper()]
    if len(set(found)) < 3 or len(found) * 6 < len(sample.split()) or _CODE_SIGNS.search(sample):
        return False
    if any(not word.isascii() for word in words) and any(word.isascii() for word in found):
        return False  # Latin letters with accents: Czech has words without vowels
    odd = sum(len(word) for word in found if _is_unspeakable(word.lower()))
    return odd > sum(map(len, found)) * (0.5 if len(set(found)) > 4 else 0.6)


@lru_cache(maxsize=4096)
def _is_unspeakable(word: str) -> bool:
    if _NEIGHBOURING_KEYS.search(word) or any(word[at : at + 5] in _KEY_RUNS for at in range(len(word) - 4)):
        return True
    writes_vowels = len(word) > 4 and (word.isascii() or "\u0400" <= word[0] <= "\u04ff")
    share = sum(char in _VOWELS for char in word) / len(word)
    return writes_vowels and (share < 0.17 or (share < 0.3 and bool(_CONSONANTS.search(word))))


def _repeats(text: str, lines: Lines) -> Iterator[Problem]:
    if len(text) < 24:
        return
    sample = text[:20_000]
    rows = [row.strip() for row in sample.splitlines() if len(row.strip()) > 3]
    common, times = Counter(rows).most_common(1)[0] if rows else ("", 0)
    tokens = [token for token in sample.casefold().split() if _LETTER.search(token)]
    if times >= 5 and times > len(rows) * 0.6 and _LETTER.search(common):
        yield "repetition", 0, len(text), f"the same line {times} times."
    elif len(tokens) >= 12 and len(set(tokens)) <= max(2, min(30, len(tokens) // 12)) and not _is_listing(sample):
        yield "repetition", 0, len(text), "the same few words over and over."
    elif len(text) >= 40 and len(set(sample)) <= 2:
        yield "repetition", 0, len(text), "one character over and over."
    elif stuck := _stuck(text):
        yield "repetition", stuck, len(text), "it repeats itself to the end."


def _is_listing(sample: str) -> bool:
    """Few words, and numbers or names beside them that change: `shelf 1 holds 3 boxes`, `shelf 2 holds 5 boxes`."""
    signs = sample.split()
    if sum(map(_has_digit, signs)) * 8 < len(signs):
        return False
    windows = list(zip(*(signs[at:] for at in range(_LISTED)), strict=False))
    return len(set(windows)) >= len(windows) * _MIN_DIFFERENT


def _has_digit(sign: str) -> bool:
    return any(map(str.isdigit, sign))


def _stuck(text: str) -> int:
    """Where a text begins to repeat itself up to its end: 0 if it does not, 1 if it does from its beginning."""
    body = text.rstrip()
    tail = body[-_MAX_TAIL:]
    if tail.count(tail[-3:]) < _MIN_REPEATS:
        return 0
    back = tail[::-1]
    # The borders of every beginning of the text read backwards (Knuth, Morris, Pratt): a border is a period.
    border = [0] * len(back)
    length = best = 0
    for at in range(1, len(back)):
        while length and back[at] != back[length]:
            length = border[length - 1]
        length += back[at] == back[length]
        border[at] = length
        period = at + 1 - length
        if at + 1 >= 24 and (at + 1) >= _MIN_REPEATS * period and len(_LETTER.findall(back[:period])) * 2 >= period:
            best = at + 1
    return max(1, len(body) - best) if best else 0


MAX_LENGTH, MAX_WORDS = 80, 10
"""Characters and words; a longer text says something somewhere."""

# A text of these words alone names nobody and nothing, and no time, number or value.
_WORDS_OF_NO_FACT = (
    "ok okay okey okie k kk yes yeah yep yup no nope nah sure fine great good nice perfect cool awesome excellent wonderful amazing brilliant "
    "alright right correct exactly agreed agree absolutely certainly definitely indeed done finished complete completed ready success successful "
    "successfully got gotcha understood understand noted roger copy acknowledged ack affirmative thanks thank thx ty cheers welcome please sorry "
    "hi hello hey greetings morning afternoon evening bye goodbye hmm hm uh um oh ah wow yay lgtm wip np nvm fyi "
    "i we you it he she they me us this that these those there here what which who my your our its is are was were am be been being isn't aren't "
    "i'm i'll i've i'd we're we'll we've you're it's that's there's let's let will would can could shall should may might must do does did have has had "
    "a an the and or but so if then than as at by for from in into of off on onto out over to up with about again also too just only very really much "
    "more most all any some every everything anything something nothing none both else now soon later next moment second minute wait hold "
    "see look looks looking check checking know think get gets go goes going gone come take give want need like sound sounds seem seems "
    "work works worked working try trying start started starting begin continue continuing proceed proceeding move moving finish stop help helping happy "
    "glad course problem worries question questions task job request requested asked thing things stuff way well not don't doesn't didn't "
    # German, French, Spanish, Portuguese, Italian, Dutch
    "ja nein danke bitte gut erledigt fertig verstanden alles klar super einverstanden gerne genau vielen dank "
    "oui non merci d'accord fait bien compris parfait voilà "
    "sí si gracias hecho vale listo claro entendido perfecto muchas de nada "
    "sim não obrigado obrigada feito pronto certo entendi grazie fatto capito va bene perfetto bedankt klaar begrepen prima goed "
    # Russian, Ukrainian
    "да нет хорошо спасибо готово понял поняла понятно сделано ладно отлично конечно пожалуйста так добре дякую "
    # Korean, Vietnamese, Turkish
    "네 예 아니요 알겠습니다 감사합니다 고맙습니다 완료 완료했습니다 완료되었습니다 좋습니다 vâng cảm ơn được evet hayır tamam teşekkürler"
)
_EMPTY_WORDS = frozenset(_WORDS_OF_NO_FACT.split())
_WORD_OF_ANSWER = plain(r"[^\W_]+(?:['’][^\W_]+)*")
# Chinese and Japanese have no blanks between words: such a text is empty if it is made of these alone.
_EMPTY_CHINESE = linear(
    r"(?:好的?|好[吧呀啊呢嘞]|嗯+|行|可以|没(?:问题|事|关系|什么|有)|收到|明白|知道|了解|清楚|谢谢|多谢|感谢|辛苦|不(?:客气|用谢|是|行|对|用)?|完成|已(?:经)?|搞定|弄好|做(?:完|好)|处理(?:完毕|完|好)?|"
    r"是的?|对的?|你好|您好|再见|早上好|晚上好|稍等|请|马上|正在|这就|来|去|现在|任务|工作|事情|一切|都|正常|顺利|成功|当然|没错|同意|确认|继续|开始|结束|准备好|试试|看看|看一下|想想|等一下|"
    r"的确|确实|哦+|噢|啊+|呃|哈+|呵+|嘿|了|吧|呢|吗|的|我|你|您|我们|它|这|那|很|太|棒|不错|完美|一下|非常|ok|"
    r"はい|いいえ|了解(?:です|しました)?|承知(?:しました|いたしました)?|わかりました|ありがとう(?:ございます|ございました)?|完了(?:です|しました)?|終わりました|お願いします|大丈夫(?:です)?)+",
    "i",
)


def says_nothing(text: str) -> bool:
    """Whether a text is an acknowledgement or the like: ok, done, thanks, 好的. Empty texts are none."""
    bare = text.strip()
    if not bare or len(bare) > MAX_LENGTH or any(map(str.isdecimal, bare)):
        return False
    words = _WORD_OF_ANSWER.findall(unicodedata.normalize("NFKC", bare).replace("’", "'").casefold())
    if not words:
        return _is_emoji(bare)
    if all(word in _EMPTY_WORDS for word in words):
        return len(words) <= MAX_WORDS and not _NAMED.search(bare)
    return bool(CJK.search(bare) and _EMPTY_CHINESE.fullmatch(chinese.simplified("".join(words))))


# What reads like a name, a path or code.
_NAMED = bounded(r"[`/@#<>=_\\{}\[\]|$%&*]|\w\.\w|\b(?!OK|LGTM|NP|TY|WIP|FYI|YES|NO\b)[A-Z]{2,}\b")
_BESIDE_EMOJI = ("So", "Sk", "Mn", "Cf")  # what joins and colours them


def _is_emoji(text: str) -> bool:
    kinds = [unicodedata.category(char) for char in text if not char.isspace()]
    return "So" in kinds and all(kind in _BESIDE_EMOJI for kind in kinds)
