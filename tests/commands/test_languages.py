"""Commands speak the language of the terminal; what programs read stays English."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from tests.running import TREE, clean, command, several

CHINESE = {"MEMORYHUB_LANGUAGE": "", "LC_ALL": "", "LC_MESSAGES": "", "LANG": "zh_CN.UTF-8", "PYTHONUTF8": "1"}


def test_help_is_in_the_language_of_the_terminal():
    (_, overview, _), (_, of_one, _) = several(["--help"], ["prompt", "--help"], **CHINESE)
    assert re.search(r"^  approve +批准提案。$", overview, re.M)
    assert "输出智能体的确切提示词。" in of_one


def test_commands_without_a_database_speak_it_too(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("@AGENTS.md\n@docs/style.md\n")
    (_, found, _), (_, as_json, _) = several(["check", str(tmp_path)], ["check", "--json", str(tmp_path)], **CHINESE)
    assert ": missing_import: " in found and "指向不存在的文件" in found
    assert {one["message"] for one in json.loads(as_json)["findings"]} == {
        one["message"] for one in json.loads(command("check", "--json", str(tmp_path)).stdout)["findings"]
    }


def test_refusals_are_in_the_language_of_the_terminal(tmp_path):
    refused = command("up", str(tmp_path / "none"), MEMORYHUB_DATA_DIR=str(tmp_path / "data"), **CHINESE)
    assert refused.returncode == 1
    assert refused.stderr.strip() == f"文件夹 {tmp_path / 'none'} 不存在：请创建它，或指定另一个。"


def test_the_setting_wins_over_the_terminal():
    lines = ["--help"], ["prompt", "--help"], ["agent", "--help"]
    overview, prompt, agent = (said for _, said, _ in several(*lines, **{**CHINESE, "MEMORYHUB_LANGUAGE": "en"}))
    assert re.search(r"^  approve +Approve a proposal\.$", overview, re.M)
    assert "Print the exact prompt of an agent." in prompt
    assert "--data-dir" in agent and "--pythonpath" not in agent
    assert clean()["MEMORYHUB_LANGUAGE"] == "en"  # tests do not depend on whose terminal they run in


def test_wrong_arguments_and_their_help_are_in_the_language_of_the_terminal():
    lines = ["agents"], ["agent"], ["check", "--help"]
    (_, _, unknown), (status, said, wrong), (_, shown, _) = several(*lines, MEMORYHUB_LANGUAGE="zh-hans")
    assert "没有命令“agents”" in unknown
    assert (status, said) == (2, "")
    assert wrong.startswith("用法： memoryhub agent") and "缺少以下参数：verb, name" in wrong
    assert (
        "文件夹或单个文件" in shown
        and "位置参数" in shown
        and not re.search(r"\b(usage|options|show|default)\b", shown)
    )


def test_a_client_that_stands_alone_speaks_it_too():
    """`pip install --no-deps` and httpx: nothing that finds patterns but Python's own."""
    script = (
        "import sys; sys.modules['re2'] = None; from memoryhub.management import terminal; print(terminal.say({!r}))"
    )
    script = script.format("There is no command 'agents'; `memoryhub --help` lists them.")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=TREE, env=clean(**CHINESE), capture_output=True, text=True
    )
    assert "没有命令“agents”" in done.stdout, done.stderr
