"""Melodies of noisy tones, heard frame by frame, to be written down tone by tone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import SettingError
from regard.systems.data.symbols import Symbols

TONES = Symbols(tuple("CDEFGAHc"))
_PITCHES = np.array([8.0, 10.0, 12.5, 15.0, 18.0, 21.0, 24.5, 28.0])  # waves in a frame of 64 samples
FRAME = 64
BANDS = 32  # from 1 wave in a frame to 32
Frames = NDArray[np.float32]


@dataclass(frozen=True)
class Utterances:
    """Sounds, and the tones that are in them.

    Attributes
    ----------
    sounds : list of (frames, BANDS)
        The logarithm of the power in each band.
    targets : list of list of int
        Numbers of ``TONES``.
    starts : list of list of int
        The frame in which each tone begins.
    """

    sounds: list[Frames]
    targets: list[list[int]]
    starts: list[list[int]]

    def __len__(self) -> int:
        return len(self.sounds)


def utterances(
    n: int, seed: int, *, shortest: int = 4, longest: int = 10, noise: float = 0.5, repeats: float = 0.3
) -> Utterances:
    """Random melodies.

    A tone lasts from 3 to 8 frames, and is followed by silence of 1 to 3. The tone after it is the same again with
    probability ``repeats``, so that how many there were can only be told by when they end.

    Parameters
    ----------
    n, seed : int
    shortest, longest : int
        How many tones, all as frequent.
    noise : float
        Its standard deviation; a tone has the amplitude 1, and begins at a random place of its wave.
    repeats : float
    """
    if not 1 <= shortest <= longest:
        raise SettingError(f"A melody has from 1 tone, and lengths are in order; got {shortest} to {longest}.")
    rng = np.random.default_rng(seed)
    made = [_melody(rng, int(rng.integers(shortest, longest + 1)), noise, repeats) for _ in range(n)]
    return Utterances([one[0] for one in made], [one[1] for one in made], [one[2] for one in made])


def concatenated(found: Utterances, times: int) -> Utterances:
    """Every ``times`` utterances one after another as one, as if nobody had stopped in between."""
    sounds, targets, starts = [], [], []
    for first in range(0, len(found) - times + 1, times):
        group = range(first, first + times)
        before = np.cumsum([0, *(len(found.sounds[i]) for i in group)])
        sounds.append(np.concatenate([found.sounds[i] for i in group]))
        targets.append([tone for i in group for tone in found.targets[i]])
        starts.append([int(start + gone) for i, gone in zip(group, before, strict=False) for start in found.starts[i]])
    return Utterances(sounds, targets, starts)


def errors(said: Sequence[int], wanted: Sequence[int]) -> int:
    """How many symbols must be put in, taken out or changed to make one sequence the other (Levenshtein).

    >>> errors([3, 3, 4], [3, 4, 5])
    2
    """
    row = list(range(len(wanted) + 1))
    for i, a in enumerate(said, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(wanted, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (a != b))
    return row[-1]


def _melody(rng: np.random.Generator, tones: int, noise: float, repeats: float) -> tuple[Frames, list[int], list[int]]:
    names = [int(rng.integers(len(_PITCHES)))]
    while len(names) < tones:
        names.append(names[-1] if rng.random() < repeats else int(rng.integers(len(_PITCHES))))
    lasts, rests = rng.integers(3, 9, size=tones), rng.integers(1, 4, size=tones)
    starts = np.cumsum([1, *(lasts + rests)])
    wave = noise * rng.normal(size=(int(starts[-1]), FRAME))
    time = np.arange(FRAME) / FRAME
    for name, first, last in zip(names, starts, lasts, strict=False):
        at = np.arange(last)[:, None] + time
        wave[first : first + last] += np.sin(2 * np.pi * (_PITCHES[name] * at + rng.random()))
    power = np.abs(np.fft.rfft(wave * np.hanning(FRAME), axis=1)[:, 1 : BANDS + 1]) ** 2
    return np.log(power + 1e-2).astype(np.float32), [name + 3 for name in names], starts[:-1].tolist()
