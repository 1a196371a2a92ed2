"""What is imported later is imported when something of it is asked for, not when pytest looks through a file of tests."""

import json
import sys

import pytest

from tests.later import Later


def test_a_module_is_imported_when_something_of_it_is_asked_for(monkeypatch):
    monkeypatch.delitem(sys.modules, "json")
    later = Later("json")
    assert not hasattr(later, "__test__") and not hasattr(later, "_pytestfixturefunction")
    assert "json" not in sys.modules
    assert later.dumps({}) == json.dumps({}) and "json" in sys.modules
    with pytest.raises(ModuleNotFoundError):
        _ = Later("a_module_that_is_nowhere").name
