"""Chinese texts: sentences around words, in simplified characters, whatever script they were written in.

A rule names the words that it cannot do without and a pattern that RE2 runs on the one sentence around such a word. Traditional
characters are read as simplified ones, one for one, so that offsets stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .cjk import CJK
from .finding import Lines, Severity
from .patterns import Linear, linear, plain
from .scanning import Needles, Words, offsets_of, replaced

_TRADITIONAL = (
    "後無須審覈實驗證檢過開關閉從現規則設說應將給與發傳轉錄檔案資訊號碼鑰憑據權員請這條個時間執務動態轉帳賬戶萬對話語記憶術級與為會來網頁連結鏈圖優樣總隱瞞違"
    "週訴書報銷貨購買賣費財價標誌節約繳綁庫鍵軟體啟機經習慣組織幾並麼個實凍簡復義務團隊導師業產問題號長門開關錄錯誤聯繫電郵訂單變預測試選項類華內處預確認備導覽複製複覆寫讀譯敘論點擊調適當認眞壞僅屬險風範圍構築層縮擴種臨題補誰該區塊聞紀歷稱籤簽單獨斷續絕勸"
)
_SIMPLIFIED = (
    "后无须审核实验证检过开关闭从现规则设说应将给与发传转录档案资讯号码钥凭据权员请这条个时间执务动态转账账户万对话语记忆术级与为会来网页连结链图优样总隐瞒违"
    "周诉书报销货购买卖费财价标志节约缴绑库键软体启机经习惯组织几并么个实冻简复义务团队导师业产问题号长门开关录错误联系电邮订单变预测试选项类华内处预确认备导览复制复覆写读译叙论点击调适当认真坏仅属险风范围构筑层缩扩种临题补谁该区块闻纪历称签签单独断续绝劝"
)
_READ_AS = dict(zip(_TRADITIONAL, _SIMPLIFIED, strict=True))

_BREAK = plain(r"[。！？!?；;\n]")
_REACH = 120
"""Characters of a sentence that are looked at on either side of a word."""

_GUARDED = linear(
    r"(?:不要|不得|禁止|严禁|切勿|请勿|不可以?|不能|不应该?|不允许|不许|不准|避免|防止|拒绝|杜绝|绝不|永不|从不|谨防|警惕|勿|别|不会|不做|没有|并非|而不是|而非|如果|若|假如|例如|比如|诸如|类似|"
    r"攻击者?|注入|恶意|钓鱼|诈骗|检测|识别|识破|拦截|试图|企图|诱导|声称|所谓|反例|错误示范|风险|会导致|可能|通常|导致|错误\s?\d{0,3}[：:]?\s?|误区|设为\s?`[^`]{0,12}`\s?)[^，,。：:]{0,14}$|"
    r"(?:禁止|严禁|切勿|不得|不要)[^。]{0,30}[、/][^、。，,]{0,12}$"
)
_CONDEMNED = linear(
    r"^[，,]?(?:除非|直到)|^[^。；;\n]{0,16}(?:是|属于|视为|算作?)(?:不允许|不可以|被?禁止|注入|攻击|违规|错误|恶意|诈骗|危险|反模式)|^[^。；;\n]{0,24}为(?:高|严重|危险)|^[^。；;\n]{0,8}(?:的?(?:攻击|注入|漏洞|风险|诈骗)(?:$|[，,。、]))"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """`needles`: one of them stands in every sentence that the pattern finds."""

    kind: str
    severity: Severity
    needles: tuple[str, ...]
    pattern: Linear
    says: str


def rule(kind: str, severity: Severity, needles: str, pattern: str, says: str) -> Rule:
    return Rule(kind, severity, tuple(needles.split()), linear(pattern), says)


def simplified(text: str) -> str:
    """The text with traditional characters read as simplified ones; as long as the text."""
    return replaced(text, _READ_AS)


def text_of(lines: Lines) -> Words:
    """The normalised text in simplified characters, or nothing where it has no such character at all."""
    return lines.cached("simplified", _searched)


def original_of(lines: Lines) -> Words:
    """The text as it was given, in simplified characters, or nothing where it has no such character at all."""
    return lines.cached("original simplified", lambda _: _searched(lines.text))


def _searched(text: str) -> Words:
    return Words(simplified(text) if not text.isascii() and CJK.search(text) else "")


def sentences(text: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Start and end of the sentences in which one of these words stands, in order."""
    done = -1
    for at in sorted(set(offsets_of(text, words, text))):
        if at >= done:
            start, done = _sentence_around(text, at)
            yield start, done


class Rules:
    """Rules, and the words that one pass over a text looks for."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.needles = Needles({needle for one in rules for needle in one.needles})


def found_by(rules: Rules, text: Words) -> Iterator[tuple[Rule, int, int]]:
    """What the rules find, but for what a sentence forbids, warns of or puts as a case."""
    there = rules.needles.there(text)
    for one in rules.rules if there else ():
        for start, end in sentences(text, there.intersection(one.needles)):
            match = one.pattern.search(text[start:end])
            if match and not _is_only_described(text, start, start + match.start(), start + match.end()):
                yield one, start + match.start(), start + match.end()


def _sentence_around(text: str, at: int) -> tuple[int, int]:
    """Start and end of the sentence that a place stands in, cut to what is looked at."""
    first, last = max(0, at - _REACH), at + _REACH
    breaks = [match.end() for match in _BREAK.finditer(text, first, at)]
    end = _BREAK.search(text, at, last)
    return (breaks[-1] if breaks else first), (end.start() if end else min(last, len(text)))


def is_guarded(text: str, at: int) -> bool:
    """Whether what stands before a place in its sentence forbids what follows, warns of it or puts it as a case."""
    before = text[max(0, at - 60) : at]
    if not CJK.search(before):
        return False
    breaks = [match.end() for match in _BREAK.finditer(before)]
    return bool(_GUARDED.search(simplified(before[breaks[-1] if breaks else 0 :])))


def _is_only_described(text: str, start: int, at: int, end: int) -> bool:
    return bool(_GUARDED.search(text[start:at]) or _CONDEMNED.search(text[end : end + 40]))
