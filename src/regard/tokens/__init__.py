"""Texts into tokens, and tokens into the rows of a table."""

from regard.tokens.ragged import Tokens
from regard.tokens.rule import Token, tokenize
from regard.tokens.vocabulary import Place, Rows, Vocabulary

__all__ = ["Place", "Rows", "Token", "Tokens", "Vocabulary", "tokenize"]
