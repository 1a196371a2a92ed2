"""Texts that say nothing which could be remembered: acknowledgements, thanks, greetings, a few words without any fact."""

from __future__ import annotations

import unicodedata

from . import chinese
from .cjk import CJK
from .patterns import bounded, linear, plain

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
_WORD = plain(r"[^\W_]+(?:['’][^\W_]+)*")
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
    words = _WORD.findall(unicodedata.normalize("NFKC", bare).replace("’", "'").casefold())
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
