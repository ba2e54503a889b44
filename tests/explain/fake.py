"""A model that reads words among their neighbours, small enough to check by hand."""

from __future__ import annotations

import numpy as np

from regard.models.model import Attended
from regard.models.table import TableModel
from regard.models.vectors import Vectors
from regard.tokens import Vocabulary, tokenize


class FakeModel:
    """A word is twice as loud after another as it is at the beginning of a text, and takes the other side there."""

    kind = "Fake"
    exact = False
    sides = 1
    bias = np.zeros(1)
    classes = np.array(["x", "y"])

    def __init__(self, texts):
        vocabulary, _ = Vocabulary.learn(texts, ngrams=1, min_count=1)
        size = len(vocabulary)
        self.about = {"parameters": {"scale": 1.0}}
        self.alone = np.arange(1, size + 1, dtype=np.float32)
        self.word_table = TableModel(
            vocabulary,
            self.alone,
            np.ones((size, 1), np.float32),
            self.bias,
            self.classes,
            np.full((size, 2), 3),
            self.about,
        )
        self.vectors = Vectors(np.ones((size, 2)), np.array([1.0, 0.0]), np.ones((2, 1)), 1.0, "lstm")

    def attend(self, text, masked=frozenset()):
        tokens = tokenize(text)
        places = self.word_table.vocabulary.places(text, tokens)
        first = np.array([place.first == 0 for place in places], bool)
        attention = self.alone[[place.row for place in places]] * np.where(first, 1, 2)
        weights = np.exp(attention) / np.exp(attention).sum()
        polarity = np.where(first, 1.0, -1.0)[:, None]
        return Attended(tokens, places, attention, weights, polarity, weights @ polarity)

    def attend_many(self, texts):
        return map(self.attend, texts)
