"""One thread for PyTorch: the tests share two cores."""

import pytest

pytest.importorskip("torch")

import torch

torch.set_num_threads(1)
