"""What is public stays public, and says what it is."""

import importlib.util
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

MAKER = Path(__file__).parents[2] / "docs" / "make_api_page.py"


def api_page():
    spec = importlib.util.spec_from_file_location("make_api_page", MAKER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


API = api_page()


@pytest.mark.parametrize("name", API.MODULES)
def test_every_public_name_is_there_and_says_what_it_is(name):
    module = import_module(name)

    assert sorted(set(module.__all__)) == sorted(module.__all__)
    for public in module.__all__:
        assert (getattr(module, public).__doc__ or "").strip(), public


def test_the_page_of_public_names_is_what_the_modules_offer():
    assert API.PAGE.read_text() == API.page()


def test_a_public_name_that_is_gone_or_changed_changes_the_page(monkeypatch):
    import regard.explain

    before = API.page()
    monkeypatch.setattr(regard.explain, "leaders", lambda model: None)
    assert API.page() != before
    monkeypatch.setattr(regard.explain, "__all__", [name for name in regard.explain.__all__ if name != "leaders"])
    assert "`leaders(" not in API.page()


def test_the_package_says_that_it_is_typed():
    code = "import regard, pathlib; print((pathlib.Path(regard.__file__).parent / 'py.typed').is_file())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
