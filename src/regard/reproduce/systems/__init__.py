"""What attention buys each system, measured: one file a system, which trains it with and without attention."""

from __future__ import annotations

from regard.errors import SettingError, nearest
from regard.reproduce.systems.study import Entry, Shown, Study

BAHDANAU = "Bahdanau, Cho and Bengio 2014, Neural Machine Translation by Jointly Learning to Align and Translate"
LUONG = "Luong, Pham and Manning 2015, Effective Approaches to Attention-based Neural Machine Translation"
CHOROWSKI = "Chorowski et al. 2015, Attention-Based Models for Speech Recognition"
VASWANI = "Vaswani et al. 2017, Attention Is All You Need"
DOSOVITSKIY = "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words"

_ALL = (
    Entry(
        "encoder-decoder",
        "Encoder–decoder",
        f"{BAHDANAU}; {LUONG}",
        "c[t] = Σⱼ a[t, j] h[j],  a[t, :] = softmax(score(s[t], h)),  P(y[t]) = softmax(W tanh(Wc [c[t]; s[t]]))",
        "Attention translates long sentences as well as short ones; from one vector, long ones fail.",
        "regard.reproduce.systems.encoder_decoder",
    ),
)

SYSTEMS: dict[str, Entry] = {entry.name: entry for entry in _ALL}

__all__ = ["SYSTEMS", "Entry", "Shown", "Study", "system"]


def system(name: str) -> Entry:
    """A system by its name."""
    if name not in SYSTEMS:
        raise SettingError(f"Unknown system {name!r}; known: {', '.join(SYSTEMS)}.{nearest(name, SYSTEMS)}")
    return SYSTEMS[name]
