"""Attention as similarity: anyone's objects become averages of those that are like them."""

from __future__ import annotations

from regard.similarity.averages import average
from regard.similarity.estimators import AttentionSmoother, SimilarityClassifier, SimilarityRegressor, Speakers
from regard.similarity.families import FAMILIES, weights
from regard.similarity.measures import (
    SIMILARITIES,
    Cosine,
    Custom,
    Dot,
    General,
    Minkowski,
    ScaledDot,
    Similarity,
    SquaredEuclidean,
    resolve,
)
from regard.similarity.recommend import recommend

__all__ = [
    "FAMILIES",
    "SIMILARITIES",
    "AttentionSmoother",
    "Cosine",
    "Custom",
    "Dot",
    "General",
    "Minkowski",
    "ScaledDot",
    "Similarity",
    "SimilarityClassifier",
    "SimilarityRegressor",
    "Speakers",
    "SquaredEuclidean",
    "average",
    "recommend",
    "resolve",
    "weights",
]
