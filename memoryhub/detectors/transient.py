"""Lines that are true for now only; a hint for the reviewer, since memory stays until somebody changes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import chinese
from .duplicate import KnownText
from .finding import Finding, Lines
from .patterns import bounded, linear
from .scanning import Needles
from .stems import Together, groups

CODE = "transient"

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_SPAN = "morning afternoon evening week month sprint session conversation chat thread task time"
_PARTS: tuple[tuple[str, str], ...] = (
    (
        "until till by before since from on next this last / mond tues wedn thur frid satu sund tomo toni noon midn end jan janu feb febr "
        "mar marc apr apri may jun june jul july aug augu sep sept oct octo nov nove dec dece",
        rf"\b(?:until|till|by|before|since|from|on|next|this|last)\s+(?:{_DAY}|tomorrow|tonight|noon|midnight|{_MONTH}\s+\d{{1,2}}|"
        r"the\s+end\s+of\s+(?:the\s+)?(?:day|week|month|sprint))\b",
    ),
    (
        "today tomorrow yesterday tonight moment now these temporarily being",
        r"\b(?:today|tomorrow|yesterday|tonight|right\s+now|for\s+now|at\s+the\s+moment|just\s+now|as\s+of\s+now|these\s+days|temporarily|"
        r"for\s+the\s+time\s+being)\b",
    ),
    (
        f"this next last / {_SPAN}",
        rf"\bthis\s+(?:{_SPAN.replace(' ', '|')})\b|\b(?:next|last)\s+(?:week|month|sprint|session)\b",
    ),
    (
        "in for / minute hour day week",
        r"\b(?:in|for)\s+(?:the\s+next\s+)?(?:\d+|an?|a\s+few|two|three)\s+(?:minutes?|hours?|days?|weeks?)\b(?!\s+(?:after|before|old|or))",
    ),
    (
        "is are was were / currently still temporarily down sick vacation holiday leave late away offline meeting",
        r"\b(?:is|are|was|were)\s+(?:currently|still|temporarily)\s+(?:\w+\s+)?(?:down|away|off|out|broken|busy|on|in|working|waiting|"
        r"running|failing|sick|travel\w*|debugging|fixing|blocked)\b|\b(?:is|are)\s+(?:down|out\s+sick|on\s+(?:vacation|holiday|leave)|"
        r"running\s+late|away|offline|in\s+a\s+meeting)\b",
    ),
)
_TOGETHER = Together([groups(words) for words, _ in _PARTS])
_WHEN = [bounded(pattern) for _, pattern in _PARTS]
_NOW = linear(
    r"今天|昨天|明天|后天|前天|今晚|今早|昨晚|刚才|刚刚|目前|眼下|此刻|暂时|暂且|这几天|这两天|最近几天|本周|这周|下周|上周|本月|这个月|下个月|本次会话|这次会话|本次对话|"
    r"(?:稍后|待会儿?|一会儿)(?:再|就|会|要)|现在(?:正|还|暂|不在|在忙)|(?:他|她|客户|老板|服务器?|系统|网络|接口)[^，,。]{0,6}正在|正在(?:出差|休假|开会|请假|维护|排查|修复|路上|生病|等|处理中)|(?:到|等到?|直到)(?:周|星期|下周)[一二三四五六日天]|"
    r"(?:周|星期)[一二三四五六日天](?:之?前|以前)|(?:接下来|未来|最近)的?(?:几|两|三|一|\d+)个?(?:小时|天|周|分钟)|临时(?:改|换|用|停|关|放|挂|顶|由|负责|不)|(?:还|仍)(?:没|未)(?:修好|恢复|回复|合并|上线|完成)"
)
_NOT_NOW = linear(
    r"每天|每日|每周|每月|每次|总是|始终|通常|经常|定期|平时|一般|如果|若|当[^前]|除非|假如|例如|比如|格式|变量|字段|参数|函数|过期|重试|默认|范围|日期|时间线|周报|日报|日志|模板|[`？?|\"“「]|^\s*#|今天的日期|目前为止|目前(?:仅|只)?支持|到目前"
)
_CHINESE_WORDS = (
    "今天 昨天 明天 后天 前天 今晚 今早 昨晚 刚才 刚刚 目前 眼下 此刻 暂时 暂且 这几天 这两天 最近 本周 "
    "这周 下周 上周 本月 这个月 下个月 会话 对话 稍后 待会 一会儿 现在 正在 周 星期 接下来 未来 临时 没 未"
)
_CHINESE_NEEDLES = Needles(_CHINESE_WORDS.split())
_HABIT = bounded(
    r"\b(?:every|each|always|never|daily|weekly|on\s+\w+days|whenever|when|if|unless|expires?|retries|after|within|format|e\.g\.)\b"
)


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """The stretch of each line that speaks of a moment rather than of a rule."""
    lower = lines.plain_rows.text
    found = []
    for place, stretches in lines.plain_rows.near(_TOGETHER):
        end = 0
        for stretch in stretches:
            for match in _WHEN[place].finditer(lower, *stretch):
                if match.start() < end:
                    continue  # one is enough for a line, and a line may be the whole text
                start, end = lines.around(match.start())
                if not _HABIT.search(lower, start, end):
                    found.append(_finding(lines, start, end, text[match.start() : match.end()]))
    return _one_a_line([*found, *_in_chinese(text, lines)])


def _in_chinese(text: str, lines: Lines) -> Iterator[Finding]:
    simple = chinese.original_of(lines)
    for start, end in chinese.sentences(simple, _CHINESE_NEEDLES.there(simple)):
        sentence = simple[start:end]
        match = _NOW.search(sentence)
        if match and not _NOT_NOW.search(sentence):
            first, last = lines.around(start + match.start())
            yield _finding(lines, first, last, text[start + match.start() : start + match.end()])


def _one_a_line(found: list[Finding]) -> list[Finding]:
    return list({one.line: one for one in reversed(found)}.values())


def _finding(lines: Lines, start: int, end: int, quote: str) -> Finding:
    message = f"Transient: “{quote}” will pass, memory stays. Working memory forgets by itself after 24 hours."
    return Finding(CODE, "low", start, end, lines.number(start), message)
