"""What `make lint` asks, so that nobody has to remember it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "templates": ["djangofmt", "--quiet", "--check", "templates"],
    "types": ["mypy"],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_code_is_clean(question):
    tool, *options = QUESTIONS[question]
    command = [Path(sys.executable).with_name(tool), *options]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert asked.returncode == 0, asked.stdout + asked.stderr
