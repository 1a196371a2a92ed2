"""Lines that give a reader nothing to act on; a hint for the reviewer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import chinese
from .duplicate import KnownText
from .finding import Finding, Lines
from .patterns import bounded, linear
from .scanning import Needles, offsets_of
from .stems import Together, groups

CODE = "vague"
MAX_LINE = 160
"""Characters; a longer line says something somewhere."""

_EMPTY = bounded(
    r"\b(?:best\s+practices?|be\s+(?:careful|smart|good|nice|thorough|consistent)|do\s+(?:it|things?|this|that)\s+(?:right|properly|correctly|well|better)|"
    r"(?:handle|do|fix|improve|manage)\s+(?:it|things?|stuff|everything|that\s+thing)\b|as\s+(?:needed|appropriate|usual|before|discussed|always)|"
    r"(?:the|in\s+the)\s+(?:usual|normal|right|proper|correct|same)\s+(?:way|thing|stuff|manner|place)|and\s+so\s+(?:on|forth)|"
    r"some(?:thing|how)\s+(?:like\s+that|else|important)|various\s+(?:things|stuff|issues|reasons)|stuff|"
    r"(?:high|good|better)[\s-]quality\s+code|clean\s+code|use\s+common\s+sense|make\s+sure\s+(?:it|everything|all)\s+(?:works?|is\s+(?:ok|fine|good|right))|"
    r"(?:more|less)\s+(?:better|carefully|nicely)|try\s+(?:your\s+best|harder)|might\s+(?:be|matter)\s+(?:useful|important|later)|etc)\b"
)
_CONCRETE = bounded(r"[`\d/@#<>=:]|\b[A-Z]{2,}\b|\b[a-z]+_[a-z]+\b|\b\w+\.\w{1,4}\b|[\"“']\w")
_POINTS_AT_NOTHING = bounded(
    r"^\s*(?:[-*+]\s+)?(?:remember|note|user said|he|she|they|it|that|this)\s+(?:that\s+)?(?:thing|one|stuff|it|this|that|is|was)\b.{0,40}$",
    "i",
)
_EMPTY_CHINESE = linear(
    r"注意(?:一下)?(?:质量|细节|安全|规范|即可|就好|就行)?(?:$|[，,。])|尽量(?:做好|好一?些|好一?点|完善|认真|仔细|优化|小心)|(?:适当|合理|妥善|灵活|酌情|正确|恰当|好好)地?(?:处理|调整|优化|安排|使用|应对|考虑|处置|运用)|酌情|看着办|视情况而定|"
    r"(?:按|按照|照)(?:惯例|常规|老规矩|老样子|平时|正常流程|实际情况|以前的?(?:方式|做法|样子)?|之前的?(?:方式|做法|样子)|上次的?(?:方式|做法|样子)?)|像(?:之前|上次|以前|平时)(?:一样|那样)|老样子|差不多(?:就行|即可|就好)|"
    r"(?:某些|一些|各种)(?:情况|问题|东西|事情|原因|地方)(?:$|[，,。！!])|那个(?:东西|事情|问题)|做好(?:一?点|工作|它|这件事|该做的)|(?:处理|优化|改进|完善|调整|整理|修改|弄|搞|看)一下(?:$|[，,。])|弄好|搞定|(?:遵循|按照?|采用|使用|注意)[^，,。]{0,6}最佳实践|高质量的?代码|代码要(?:干净|整洁|优雅|规范|清晰)|"
    r"认真(?:一点|负责)|小心(?:一?点|行事)|多加?(?:注意|小心|用心)|用点心|动动脑|保持(?:良好|专业|认真|高质量)|(?:更好|更加?)(?:一?些|一?点)?地?(?:完成|工作|处理)|等等(?:$|[，,。])|之类的?(?:$|[，,。])|可能(?:有用|重要)|以后(?:再说|可能用到)|(?:记住|记得|保存|记录|别忘)[^，,。]{0,4}重要的?(?:事情|东西|信息)|(?:用|凭|按|靠)常识"
)
_CONCRETE_CHINESE = linear(r"[`\d/@#<>=\"“「『]|[A-Za-z]{2,}|[一二两三四五六七八九十百千]+[个次天条行字周月年]")
_CHINESE_WORDS = (
    "注意 尽量 适当 合理 妥善 灵活 酌情 正确 恰当 好好 看着办 视情况 惯例 常规 规矩 正常流程 实际情况 之前 上次 以前 平时 老样子 差不多 某些 "
    "一些 各种 那个 做好 一下 弄好 搞定 最佳实践 高质量 代码 认真 小心 多加 用点心 动动脑 保持 更好 更加 等等 之类 可能 以后 重要 常识"
)
_CHINESE_NEEDLES = Needles(_CHINESE_WORDS.split())
_MAX_CHINESE_LINE = 60

_WORDS = Together([groups(
    "practice careful smart thorough consistent properly correctly thing stuff needed appropriate usual discussed manner forth "
    "somehow something various quality clean sense sure nicely carefully harder best useful important etc good nice better right same"
)])  # fmt: skip


def find(text: str, lines: Lines, known: Sequence[KnownText] = ()) -> list[Finding]:
    """Advice without an object, in lines that name no file, command, number or name."""
    near = (stretch for _, stretches in lines.plain_rows.near(_WORDS) for stretch in stretches)
    seen = {at for stretch in near for at in _line_starts(lines, *stretch)}
    found = [one for start in sorted(seen) if (one := _finding_in(text, lines, start))]
    return [*found, *_in_chinese(text, lines)]


def _in_chinese(text: str, lines: Lines) -> Iterator[Finding]:
    simple = chinese.original_of(lines)
    done = -1
    for at in sorted(set(offsets_of(simple, _CHINESE_NEEDLES.there(simple), simple))):
        if at < done:
            continue
        start, done = lines.around(at)
        line = simple[start:done]
        if len(line) > _MAX_CHINESE_LINE or line.lstrip().startswith(("#", "|")) or _CONCRETE_CHINESE.search(line):
            continue
        if hit := _EMPTY_CHINESE.search(line):
            yield _finding(lines, start, text[start:done], f"“{line[hit.start() : hit.end()]}”")


def _line_starts(lines: Lines, start: int, end: int) -> Iterator[int]:
    while start < end:
        first, last = lines.around(start)
        yield first
        start = last + 1


def _finding_in(text: str, lines: Lines, start: int) -> Finding | None:
    line = text[start : lines.around(start)[1]]
    if len(line) > MAX_LINE or line.lstrip().startswith("#") or _CONCRETE.search(line):
        return None
    hit = _EMPTY.search(line.lower())
    if not hit and not _POINTS_AT_NOTHING.match(line):
        return None
    return _finding(lines, start, line, f"“{hit.group()}”" if hit else "this line")


def _finding(lines: Lines, start: int, line: str, quote: str) -> Finding:
    message = f"Vague: {quote} does not say what to do. Name the file, command, person or value."
    return Finding(CODE, "low", start, start + len(line), lines.number(start), message)
