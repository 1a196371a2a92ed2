"""Lines that memory holds already, in scripts with and without blanks."""

from __future__ import annotations

import pytest

from memoryhub.detectors import KnownText
from tests.detectors import findings_of


def test_recalled_lines_are_told_with_their_source() -> None:
    known = [KnownText("/memories/AGENTS.md", "# A\n- Run the tests with make test-fast before a push.\n")]
    same, near = findings_of(
        "duplicate",
        "* run the tests with `make test-fast` before a push\n- Run all the tests with make test-fast before a push",
        context=known,
    )
    assert (same.kind, near.kind) == ("same", "near")
    assert "/memories/AGENTS.md, line 2" in same.message
    assert findings_of("duplicate", "- Staging deploys from main by itself.", context=known) == []


@pytest.mark.parametrize(
    ("said", "again", "other"),
    [
        ("退款通常需要五到十个工作日才能到账，客服应先核对发票编号。", "结果：退款通常需要五到十个工作日才能到账；客服应先核对发票编号", "仓库每天晚上九点关门，钥匙由夜班组长保管。"),
        ("返金は通常五営業日かかりますので、まず請求書番号を確認してください。", "返金は通常五営業日かかりますのでまず請求書番号を確認して下さい", "倉庫は毎晩九時に閉まり、鍵は班長が保管します。"),
        ("환불은 보통 영업일 기준 5일이 걸립니다.", "답변: 환불은 보통 영업일 기준 5일이 걸립니다", "창고는 매일 밤 아홉 시에 닫습니다."),
        ("การคืนเงินใช้เวลาห้าถึงสิบวันทำการ", "การคืนเงินใช้เวลาห้าถึงสิบวันทำการ!", "โกดังปิดเวลาสามทุ่ม"),
    ],
)  # fmt: skip
def test_scripts_without_blanks_are_recalled_too(said: str, again: str, other: str) -> None:
    known = [KnownText("/memories/AGENTS.md", f"# A\n\n- {said}\n")]
    assert [one.kind for one in findings_of("duplicate", said, context=known)] == ["same"]
    assert len(findings_of("duplicate", again, context=known)) == 1
    assert findings_of("duplicate", other, context=known) == []
    assert findings_of("duplicate", "退款流程", context=[KnownText("a", "退款流程")]) == []  # a title
