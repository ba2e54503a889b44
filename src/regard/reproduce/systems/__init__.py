"""What attention buys each system, measured: one file a system, which trains it with and without attention."""

from __future__ import annotations

from regard.errors import SettingError, nearest
from regard.reproduce.systems.study import Entry, Shown, Study

BAHDANAU = "Bahdanau, Cho and Bengio 2014, Neural Machine Translation by Jointly Learning to Align and Translate"
LUONG = "Luong, Pham and Manning 2015, Effective Approaches to Attention-based Neural Machine Translation"
CHOROWSKI = "Chorowski et al. 2015, Attention-Based Models for Speech Recognition"
VASWANI = "Vaswani et al. 2017, Attention Is All You Need"
DOSOVITSKIY = "Dosovitskiy et al. 2021, An Image is Worth 16x16 Words"
YANG = "Yang et al. 2016, Hierarchical Attention Networks for Document Classification"
SEO = "Seo et al. 2017, Interpretable Convolutional Neural Networks with Dual Local and Global Attention"
JI = "Ji et al. 2017, A Nested Attention Neural Hybrid Model for Grammatical Error Correction"
SUKHBAATAR = "Sukhbaatar et al. 2015, End-To-End Memory Networks"
WESTON = "Weston, Chopra and Bordes 2015, Memory Networks"
VINYALS = "Vinyals, Fortunato and Jaitly 2015, Pointer Networks"
CHEN = "Chen et al. 2017, Attentive Collaborative Filtering"
CHOI = "Choi et al. 2017, GRAM: Graph-based Attention Model for Healthcare Representation Learning"

_ALL = (
    Entry(
        "encoder-decoder",
        "Encoder–decoder",
        f"{BAHDANAU}; {LUONG}",
        "c[t] = Σⱼ a[t, j] h[j],  a[t, :] = softmax(score(s[t], h)),  P(y[t]) = softmax(W tanh(Wc [c[t]; s[t]]))",
        "Attention translates long sentences as well as short ones; from one vector, long ones fail.",
        "regard.reproduce.systems.encoder_decoder",
    ),
    Entry(
        "transformer",
        "Transformer",
        VASWANI,
        "x <- x + Σ over heads of softmax(Q K' / √d) V Wo,  in the source, in the target, and from one to the other",
        "Attention alone, without recurrence, translates as well as anything, and trains in parallel.",
        "regard.reproduce.systems.transformer",
    ),
    Entry(
        "vision-transformer",
        "Vision transformer",
        DOSOVITSKIY,
        "x[i] = W patch[i] + p[i],  x <- transformer blocks(x),  scores = W' mean(x) + b",
        "Seeing by attention is about as good as by convolution; both compare by dot products.",
        "regard.reproduce.systems.vision",
    ),
    Entry(
        "recogniser",
        "Location-sensitive recogniser",
        CHOROWSKI,
        "f = F * a[i-1],  e[i, j] = w' tanh(W s[i-1] + V h[j] + U f[j] + b),  g[i] = Σⱼ a[i, j] h[j]",
        "By content alone, attention fails on utterances longer than those of training; with location it does not.",
        "regard.reproduce.systems.recogniser",
    ),
    Entry(
        "han",
        "Hierarchical attention network",
        YANG,
        "s[i] = Σₜ α[i, t] h[i, t],  α[i, :] = softmax(uw · tanh(Ww h[i, :] + bw));  v = Σᵢ α[i] s[i],  score = W'v",
        "Some words matter in a sentence, some sentences in a text: attending to both beats averages.",
        "regard.reproduce.systems.han",
    ),
    Entry(
        "dattn",
        "D-Attn",
        SEO,
        "s(i) = σ(window[i] * W + b),  x'[i] = s(i) x[i];  rating = point(user's document) · point(item's document)",
        "Local and global attention rate better, and the local gates open for words that tell.",
        "regard.reproduce.systems.dattn",
    ),
    Entry(
        "nested-gec",
        "Nested attention for grammatical error correction",
        JI,
        "α[s, :] = softmax(φ1(d[s]) · φ2(h));  letters of an unknown word: the same within argmaxₖ α[s, k]",
        "Attention over words corrects grammar, and attention over the letters of one word its spelling.",
        "regard.reproduce.systems.nested_gec",
    ),
    Entry(
        "memory-network",
        "Memory network",
        f"{SUKHBAATAR}; {WESTON}",
        "a = softmax(u · k),  u ← H u + Σᵢ a[i] v[i]  hop after hop,  answer = argmax W u",
        "Several hops answer questions whose facts must be found one through the other.",
        "regard.reproduce.systems.memory_network",
    ),
    Entry(
        "pointer-network",
        "Pointer network",
        VINYALS,
        "u[t, j] = v' tanh(W1 h[j] + W2 d[t]),  p(answer[t] = j) = softmax(u[t])[j]",
        "Pointing at inputs answers problems whose answer is made of them, also with more inputs than in training.",
        "regard.reproduce.systems.pointer",
    ),
    Entry(
        "collaborative-filtering",
        "Attentive collaborative filtering",
        CHEN,
        "α = softmax(item score),  x̄[l] = Σₘ β[l, m] x[l, m],  score(i, j) = (u[i] + Σₗ α[l] p[l]) · v[j] + b[j]",
        "Attention finds which items of a history, and which of their parts, speak for a person.",
        "regard.reproduce.systems.collaborative",
    ),
    Entry(
        "gram",
        "GRAM",
        CHOI,
        "g[i] = Σⱼ a[i, j] e[j],  a[i, :] = softmax over ancestors j of u' tanh(W [e[i]; e[j]] + b)",
        "Rare codes borrow from what they are kinds of: 10% better on rare diseases.",
        "regard.reproduce.systems.gram",
    ),
)

SYSTEMS: dict[str, Entry] = {entry.name: entry for entry in _ALL}

__all__ = ["SYSTEMS", "Entry", "Shown", "Study", "system"]


def system(name: str) -> Entry:
    """A system by its name."""
    if name not in SYSTEMS:
        raise SettingError(f"Unknown system {name!r}; known: {', '.join(SYSTEMS)}.{nearest(name, SYSTEMS)}")
    return SYSTEMS[name]
