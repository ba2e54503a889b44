"""What all systems share: they know what they were built with, and are kept in a file without pickle."""

from __future__ import annotations

import os
from typing import Any, Self

import torch
from torch import nn

from regard.errors import ModelFileError, SettingError
from regard.models import store


class System(nn.Module):
    """A model that can be built again from its settings and its parameters.

    Parameters
    ----------
    **settings
        All arguments of the system's own constructor, ready for JSON.

    Attributes
    ----------
    settings : dict
    about : dict
        What else belongs to the model, ready for JSON: its symbols, what was measured.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings
        self.about: dict[str, Any] = {}

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return next(self.parameters()).device

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings, ``about`` and parameters into one safetensors file; equal models give equal bytes."""
        tensors = {}
        for name, tensor in self.state_dict().items():
            if tensor.dtype == torch.bfloat16:
                raise SettingError(f"A file holds floats that NumPy knows; {name} is bfloat16: save `model.float()`.")
            tensors[name] = tensor.detach().cpu().numpy()
        store.write(path, type(self).__name__, {"settings": self.settings, "about": self.about}, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device | str = "cpu") -> Self:
        """Read what ``save`` wrote, ready to be used: in evaluation mode, in the types it was saved with."""
        kind, said, arrays = store.read(path)
        if kind != cls.__name__:
            raise ModelFileError(f"{path} must hold a {cls.__name__}; it holds a {kind}: name another file.")
        try:
            with torch.random.fork_rng([]):  # what is drawn to build it is overwritten, and is nobody's business
                model = cls(**said["settings"])
            model.about = said["about"]
            model.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()}, assign=True)
        except (KeyError, TypeError, RuntimeError, SettingError) as error:
            raise ModelFileError(f"The parts of {path} do not fit together ({error}); train it again.") from error
        return model.to(device).eval()
