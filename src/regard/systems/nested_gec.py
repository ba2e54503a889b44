"""Ji et al. 2017: A Nested Attention Neural Hybrid Model for Grammatical Error Correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - the name that everyone uses

from regard.errors import SettingError
from regard.nn.combine import Attentional
from regard.nn.masks import lengths_mask
from regard.nn.nested import NestedAttention
from regard.systems.recurrent import Recurrent
from regard.systems.saving import System

PAD, START, END, UNKNOWN = 0, 1, 2, 3
_RESERVED = 4
LETTERS = "abcdefghijklmnopqrstuvwxyz'-"
COPIED = "?"  # what stands for a word that nobody can spell

Sentence = Sequence[str]


@dataclass(frozen=True)
class Written:
    """What a correction looks like.

    Attributes
    ----------
    words : list of str
    unknown : list of bool
        Which of the words the word decoder did not know, so that they were spelled or copied.
    weights : (words + 1, S)
        What each word, and the end, attended to.
    letters : dict of int to (letters, M)
        Of each word that was spelled: what its letters attended to, in the source word attended to most.
    """

    words: list[str]
    unknown: list[bool]
    weights: Tensor
    letters: dict[int, Tensor]


@dataclass(frozen=True)
class _Read:
    """Sources as the encoders read them: words (B, S, H), letters (B, S, M, D), what is real of both, and the ends."""

    words: Tensor
    mask: Tensor
    letters: Tensor
    letter_mask: Tensor
    last: Tensor


class NestedCorrector(System):
    """Corrects sentences word by word, and spells the words that it does not know.

        h = both ways over the words; an unknown word is what a network both ways over its letters remembers
        d[s] = GRU(y[s-1], d[s-1]),  α[s, :] = softmax(φ1(d[s]) · φ2(h)),  P(y[s]) = softmax(W tanh(Wc [c[s]; d[s]]))
        where y[s] is the unknown word:  letters of it by a second decoder, which begins with tanh(Wc [c[s]; d[s]]) and
        attends in the same way over the letters of the source word that α[s, :] likes best

    Parameters
    ----------
    words : sequence of str
        The vocabulary; all other words are unknown.
    dim, hidden : int
        Of the embeddings of words, and of h and d.
    letter_dim, letter_hidden : int
        The same for letters.
    attention : "nested", "words" or None
        "words" copies the source word attended to most in place of spelling it; None sees the ends of the encoder at
        every step, and can neither spell nor copy.
    dropout : float
        Of the embeddings and before the output, in training.

    Examples
    --------
    >>> model = NestedCorrector(["the", "dog", "likes", "a"]).eval()
    >>> len(model.correct([["the", "dog", "like", "a", "boen"]], longest=6))
    1
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        dim: int = 48,
        hidden: int = 64,
        letter_dim: int = 24,
        letter_hidden: int = 48,
        attention: Literal["nested", "words"] | None = "nested",
        dropout: float = 0.1,
    ) -> None:
        super().__init__(
            words=list(words),
            dim=dim,
            hidden=hidden,
            letter_dim=letter_dim,
            letter_hidden=letter_hidden,
            attention=attention,
            dropout=dropout,
        )
        if attention not in ("nested", "words", None):
            raise SettingError(f"`attention` must be 'nested', 'words' or None; got {attention!r}.")
        if len(set(words)) != len(words) or not len(words):
            raise SettingError("`words` must be distinct words, one at least.")
        self.vocabulary = list(words)
        self.numbers = {word: i for i, word in enumerate(words, _RESERVED)}
        self.embedding = nn.Embedding(len(words) + _RESERVED, dim, padding_idx=PAD)
        self.encoder = Recurrent(dim, hidden)
        self.letter = nn.Embedding(len(LETTERS) + _RESERVED, letter_dim, padding_idx=PAD)
        self.speller = Recurrent(letter_dim, letter_hidden)
        self.spelled = nn.Linear(letter_hidden, dim)
        self.start = nn.Linear(hidden, hidden)
        self.decoder = nn.GRU(dim, hidden, batch_first=True)
        self.attention = NestedAttention(hidden, hidden, char_dim=letter_hidden, char_query_dim=letter_hidden)
        self.attentional = Attentional(hidden, hidden)
        self.out = nn.Linear(hidden, len(words) + _RESERVED)
        self.letter_start = nn.Linear(hidden, letter_hidden)
        self.letter_decoder = nn.GRU(letter_dim, letter_hidden, batch_first=True)
        self.letter_attentional = Attentional(letter_hidden, letter_hidden)
        self.letter_out = nn.Linear(letter_hidden, len(LETTERS) + _RESERVED)
        self.dropout = nn.Dropout(dropout)

    # -- reading -----------------------------------------------------------------------------------------------------

    def known(self, word: str) -> bool:
        """Whether a word belongs to the vocabulary."""
        return word in self.numbers

    def word_numbers(self, sentence: Sentence) -> list[int]:
        """The number of each word."""
        return [self.numbers.get(word, UNKNOWN) for word in sentence]

    def letter_numbers(self, word: str) -> list[int]:
        """The number of each letter; what is none of ``LETTERS`` is unknown."""
        return [_RESERVED + LETTERS.find(letter) if letter in LETTERS else UNKNOWN for letter in word]

    def read(self, sources: Sequence[Sentence]) -> _Read:
        """Read sentences: letters first, then words among words."""
        if not len(sources) or not all(sources):
            raise SettingError("Sentences must have a word at least; got none, or an empty one.")
        numbers, lengths = self._padded([self.word_numbers(source) for source in sources])
        batch, size = numbers.shape
        spelling = [self.letter_numbers(word) for source in sources for word in source]
        letters, letter_lengths = self._padded(spelling)
        states, last = self.speller(self.letter(letters), letter_lengths)
        there = lengths_mask(lengths, size)[:, 0]
        chars = states.new_zeros(batch, size, *states.shape[1:])
        chars[there] = states
        char_mask = torch.zeros(chars.shape[:3], dtype=torch.bool, device=chars.device)
        char_mask[there] = lengths_mask(letter_lengths, letters.shape[1])[:, 0]
        x = self.embedding(numbers)
        spelled = x.new_zeros(x.shape)
        spelled[there] = self.spelled(last)
        x = torch.where((numbers == UNKNOWN)[..., None], spelled, x)
        words, ends = self.encoder(self.dropout(x), lengths)
        return _Read(words, there, chars, char_mask, ends)

    def _padded(self, sequences: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Numbers side by side, and how many there are of each."""
        longest = max(len(one) for one in sequences)
        rows = [[*one, *[PAD] * (longest - len(one))] for one in sequences]
        return torch.tensor(rows, device=self.device), torch.tensor([len(one) for one in sequences], device=self.device)

    # -- saying ------------------------------------------------------------------------------------------------------

    def _say(self, read: _Read, before: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """From words said before, (B, T), what comes next: h̃ (B, T, H), the state, and the weights (B, T, S)."""
        d, state = self.decoder(self.dropout(self.embedding(before)), state)
        if self.settings["attention"] is None:
            return self.attentional(read.last[:, None].expand_as(d), d), state, None
        found = self.attention(d, read.words, mask=read.mask[:, None])
        return self.attentional(found.context, d), state, found.weights

    def _begin(self, read: _Read) -> Tensor:
        return torch.tanh(self.start(read.last))[None]

    def _letters(
        self, read: _Read, rows: Tensor, h: Tensor, weights: Tensor, before: Tensor, state: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Letters for n words to be spelled, from the letters before, (n, C): scores (n, C, letters), state, weights.

        ``rows`` (n,) says whose words they are, ``h`` (n, H) and ``weights`` (n, S) are those of the word decoder.
        """
        state = torch.tanh(self.letter_start(h))[None] if state is None else state
        d, state = self.letter_decoder(self.letter(before), state)
        chars, mask = read.letters[rows], read.letter_mask[rows]
        found = self.attention.spell(d[:, None], weights[:, None], chars, mask=mask)
        assert found.weights is not None, "weights come unless told otherwise"
        return self.letter_out(self.letter_attentional(found.context[:, 0], d)), state, found.weights[:, 0]

    def loss(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> Tensor:
        """Minus the mean log probability of a word of the targets, plus that of a letter of their unknown words."""
        read = self.read(sources)
        said, _ = self._padded([[START, *self.word_numbers(target), END] for target in targets])
        h, _, weights = self._say(read, said[:, :-1], self._begin(read))
        loss = F.cross_entropy(self.out(self.dropout(h)).flatten(0, 1), said[:, 1:].flatten(), ignore_index=PAD)
        if self.settings["attention"] != "nested":
            return loss
        places = [(i, j) for i, target in enumerate(targets) for j, word in enumerate(target) if not self.known(word)]
        if not places:
            return loss
        assert weights is not None, "nested attention has weights"
        rows, steps = (torch.tensor(each, device=self.device) for each in zip(*places, strict=True))
        spelling, _ = self._padded([[START, *self.letter_numbers(targets[i][j]), END] for i, j in places])
        scores, _, _ = self._letters(read, rows, h[rows, steps], weights[rows, steps], spelling[:, :-1], None)
        return loss + F.cross_entropy(scores.flatten(0, 1), spelling[:, 1:].flatten(), ignore_index=PAD)

    @torch.no_grad()
    def correct(
        self, sources: Sequence[Sentence], *, longest: int | None = None, longest_word: int = 24
    ) -> list[Written]:
        """Correct sentences greedily, ``longest`` words each at most: four more than the source, if not given."""
        read = self.read(sources)
        size = read.mask.sum(-1) + 4 if longest is None else torch.full((len(sources),), longest, device=self.device)
        state, before = self._begin(read), torch.full((len(sources), 1), START, device=self.device)
        numbers, states, attended = [], [], []
        done = torch.zeros(len(sources), dtype=torch.bool, device=self.device)
        for step in range(int(size.max()) + 1):
            h, state, weights = self._say(read, before, state)
            scores = self.out(h[:, 0])
            scores[:, [PAD, START]] = -torch.inf
            before = scores.argmax(-1, keepdim=True)
            before[(step >= size) | done] = END
            done = done | (before[:, 0] == END)
            numbers.append(before[:, 0])
            states.append(h[:, 0])
            attended.append(read.words.new_zeros(read.mask.shape) if weights is None else weights[:, 0])
            if bool(done.all()):
                break
        said, h, weights = torch.stack(numbers, 1), torch.stack(states, 1), torch.stack(attended, 1)
        return self._written(sources, read, said, h, weights, longest_word)

    def _written(
        self, sources: Sequence[Sentence], read: _Read, said: Tensor, h: Tensor, weights: Tensor, longest: int
    ) -> list[Written]:
        """Numbers as words: those of the vocabulary, and the unknown ones spelled or copied."""
        rows, steps = (said == UNKNOWN).nonzero(as_tuple=True)
        spelled: dict[tuple[int, int], str] = {}
        letters: dict[tuple[int, int], Tensor] = {}
        where = list(zip(rows.tolist(), steps.tolist(), strict=True))
        if self.settings["attention"] == "nested" and where:
            words, looked = self._spell(read, rows, h[rows, steps], weights[rows, steps], longest)
            spelled = dict(zip(where, words, strict=True))
            letters = dict(zip(where, looked, strict=True))
        elif self.settings["attention"] == "words":
            most = weights[rows, steps].argmax(-1).tolist()
            spelled = {(i, j): sources[i][k] for (i, j), k in zip(where, most, strict=True)}
        written = []
        for i, source in enumerate(sources):
            ends = (said[i] == END).nonzero()
            length = int(ends[0]) if len(ends) else said.shape[1]
            numbers = said[i, :length].tolist()
            words = [
                spelled.get((i, j), COPIED) if number == UNKNOWN else self.vocabulary[number - _RESERVED]
                for j, number in enumerate(numbers)
            ]
            looked_at = {j: letters[i, j] for j in range(length) if (i, j) in letters}
            unknown = [number == UNKNOWN for number in numbers]
            written.append(Written(words, unknown, weights[i, : length + 1, : len(source)], looked_at))
        return written

    def _spell(
        self, read: _Read, rows: Tensor, h: Tensor, weights: Tensor, longest: int
    ) -> tuple[list[str], list[Tensor]]:
        """Letter by letter, until the end of each word."""
        before, state = torch.full((len(rows), 1), START, device=self.device), None
        said, looked = [], []
        for _ in range(longest):
            scores, state, attended = self._letters(read, rows, h, weights, before, state)
            scores[..., [PAD, START, UNKNOWN]] = -torch.inf
            before = scores[:, -1].argmax(-1, keepdim=True)
            said.append(before[:, 0])
            looked.append(attended[:, 0])
            if bool((torch.stack(said) == END).any(0).all()):
                break
        numbers, seen = torch.stack(said, 1), torch.stack(looked, 1)
        words, kept = [], []
        for one, attended in zip(numbers.tolist(), seen, strict=True):
            length = one.index(END) if END in one else len(one)
            words.append("".join(LETTERS[number - _RESERVED] for number in one[:length]) or COPIED)
            kept.append(attended[: length + 1])
        return words, kept
