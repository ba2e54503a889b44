"""The examples of the docstrings run, and say what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import regard.similarity


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(regard.similarity.__path__)])
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(f"regard.similarity.{name}")).failed == 0
