"""The examples of the docstrings run, and say what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import warnings

import pytest
import torch

import regard.nn

MODULES = [f"regard.nn.{module.name}" for module in pkgutil.iter_modules(regard.nn.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Transformers warns of its own future
        result = doctest.testmod(module, extraglobs={"torch": torch})

    assert result.failed == 0
