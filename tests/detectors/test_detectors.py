"""What holds for all detectors: how they are registered, the order and the number of findings."""

from __future__ import annotations

from memoryhub import detectors


def test_being_in_the_folder_registers_a_detector() -> None:
    assert detectors.codes() == [
        "coherence",
        "duplicate",
        "hidden",
        "injection",
        "risky_advice",
        "secrets",
        "transient",
        "vague",
    ]


def test_findings_come_in_the_order_of_the_text_and_are_bounded() -> None:
    found = detectors.find("a\u200bb " * 1000)
    assert len(found) == detectors.MAX_FINDINGS
    assert found == sorted(found, key=lambda one: one.start)
