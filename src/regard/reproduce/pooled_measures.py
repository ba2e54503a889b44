"""What leaving out, gradients and searches say about a pooled network: the parts that no closed form covers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.models.network import PADDING
from regard.models.neural_training import Documents
from regard.reproduce.pooled_networks import Floats, PooledNetwork, Reading, runs

_AT_ONCE = 1 << 15  # padded tokens that are read at a time
_TOGETHER = 40  # documents that are searched together
CANDIDATES, STEPS, SEARCHED = 5, 500, 0.01  # of the published search: it starts so often, and holds |Δp| to so much


def gradients(network: PooledNetwork, documents: Documents) -> Floats:
    """|e[j] · ∂p/∂e[j]| with the attention held constant, the sum of each document one: (units,)."""
    found = np.empty(len(documents.tokens.ids))
    for _, ids, places in runs(documents.tokens):
        e, keep = network.embed(ids)
        e = e.detach().requires_grad_()
        h = network.encode(e, keep)
        weights = network.attend(h, keep)[1].detach()
        (slope,) = torch.autograd.grad(network.read(h, weights).sum(), e)
        real = keep.numpy()
        found[places[real]] = (e.detach() * slope).sum(-1).abs().double().numpy()[real]
    # p'(score) is the same for all words of a document, and the sum that they are divided by has it, too.
    lengths = np.diff(documents.tokens.starts)
    sums = np.add.reduceat(found, documents.tokens.starts[:-1])
    shares: Floats = found / np.repeat(np.where(sums > 0, sums, 1.0), lengths)
    return shares


# -- leaving out -----------------------------------------------------------------------------------------------------


def left_out(network: PooledNetwork, documents: Documents, reading: Reading) -> Floats:
    """|p - p without word j|, the word deleted and the others encoded anew: (units,).

    Words that are encoded each by itself need no second reading, and convolutions read again only what the gap has
    brought together; a recurrent network reads every text as often as it has words.
    """
    if not network.design.contextual:
        return np.abs(reading.batch().left_out[0])
    scores = _across_gaps(network, documents, reading) if network.design.encoder == "cnn" else _anew(network, documents)
    chances = np.repeat(reading.chances, np.diff(reading.starts))
    return np.abs(chances - 1.0 / (1.0 + np.exp(-scores)))


def _anew(network: PooledNetwork, documents: Documents) -> Floats:
    """The score of each document without each of its words: (units,)."""
    starts, lengths = documents.tokens.starts, np.diff(documents.tokens.starts)
    scores = np.empty(len(documents.tokens.ids))
    scores[starts[:-1][lengths == 1]] = float(network.output.bias[0])
    units = np.arange(len(scores))
    length = np.repeat(lengths, lengths)
    for n in np.unique(lengths[lengths > 1]):
        of = units[length == n]
        each = max(1, _AT_ONCE // int(n))
        for part in (of[i : i + each] for i in range(0, len(of), each)):
            start = np.repeat(starts[:-1], lengths)[part]
            place = np.arange(n - 1)
            rest = start[:, None] + place + (place >= (part - start)[:, None])
            scores[part] = _scores(network, torch.from_numpy(documents.tokens.ids[rest].astype(np.int64)))
    return scores


def _scores(network: PooledNetwork, ids: Tensor) -> Floats:
    with torch.inference_mode():
        return np.asarray(network(ids)[0].double().numpy())


def _across_gaps(network: PooledNetwork, documents: Documents, reading: Reading) -> Floats:
    """The same for convolutions: with windows of r words to either side, 2 r words read something new.

        score = Σ exp(a) said / Σ exp(a)   over the words before these, the 2 r words anew, and the words behind

    Sums run over what stays, so that nothing is subtracted.
    """
    reach = max(network.design.widths) // 2
    tokens, starts = documents.tokens, documents.tokens.starts
    lengths = np.diff(starts)
    start, stop, top = (
        np.repeat(of, lengths) for of in (starts[:-1], starts[1:], np.maximum.reduceat(reading.attention, starts[:-1]))
    )
    loud = np.exp(reading.attention - top)
    units = np.arange(len(tokens.ids))
    # What lies before the words read anew, and what lies behind: Σ exp(a) and Σ exp(a) said up to each unit.
    before, behind = units - reach, units + reach + 1
    mass, total = np.zeros(len(units)), np.zeros(len(units))
    for values, sums in ((loud, mass), (loud * reading.said, total)):
        upwards, downwards = np.empty(len(units)), np.empty(len(units))
        for a, b in pairwise(starts):
            upwards[a:b] = np.cumsum(values[a:b])
            downwards[a:b] = np.cumsum(values[a:b][::-1])[::-1]
        sums[before > start] += upwards[before[before > start] - 1]
        sums[behind < stop] += downwards[behind[behind < stop]]
    around = np.r_[-2 * reach : 0, 1 : 2 * reach + 1]
    middle = slice(reach, 3 * reach)
    each = _AT_ONCE // len(around)
    for part in (units[i : i + each] for i in range(0, len(units), each)):
        places = part[:, None] + around
        inside = (places >= start[part][:, None]) & (places < stop[part][:, None])
        ids = np.where(inside, tokens.ids[np.where(inside, places, 0)], PADDING).astype(np.int64)
        with torch.inference_mode():
            e, keep = network.embed(torch.from_numpy(ids))
            h = network.encode(e, keep)[:, middle]
            # Every place is scored, and those where there is no word are silenced below.
            logits = network.attend(h, torch.ones_like(keep[:, middle]))[0].double().numpy()
            says = (h.double() @ network.output.weight[0].double()).numpy() + reading.bias
        anew = np.where(inside[:, middle], np.exp(logits - top[part][:, None]), 0.0)
        mass[part] += anew.sum(axis=1)
        total[part] += (anew * says).sum(axis=1)
    return np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), reading.bias)


# -- the published search for another attention ----------------------------------------------------------------------


def searched(reading: Reading, within: float, seed: int) -> Floats:
    """The farthest attention that the published search finds for each document: JSD in nats, (documents,).

    Five logits start from log(1/L) + 3 N(0, 1), and 500 steps of Adam (amsgrad, rate 0.01) lower

        Σₖ [ - JSD(wᵏ, w) + 500 relu(|Δpᵏ| - 0.01) ] - mean over k, l of JSD(wᵏ, wˡ)

    The value of a document is the largest JSD(wᵏ, w) among those that move its probability by ``within`` at most, and 0
    where none does.
    """
    generator = torch.Generator().manual_seed(seed)
    starts = reading.starts
    lengths = np.diff(starts)
    found = np.zeros(len(lengths))
    order = np.argsort(lengths, kind="stable")
    for batch in np.array_split(order, max(1, len(order) // _TOGETHER)):
        if len(batch):
            found[batch] = _searched(reading, batch, within, generator)
    return found


def _searched(reading: Reading, batch: NDArray[np.intp], within: float, generator: torch.Generator) -> Floats:
    starts, ends = reading.starts[batch], reading.starts[batch + 1]
    place = np.arange((ends - starts).max())
    keep = place < (ends - starts)[:, None]
    units = np.where(keep, starts[:, None] + place, 0)
    real = torch.from_numpy(keep)[:, None]
    exact = *(torch.from_numpy(np.where(keep, of[units], 0.0)) for of in (reading.weights, reading.said)), real
    single = *(each.float() for each in exact[:2]), real
    drawn = torch.randn((len(batch), CANDIDATES, len(place)), generator=generator)
    logits = (3.0 * drawn - torch.from_numpy(np.log(ends - starts)).float()[:, None, None]).requires_grad_()
    adam = torch.optim.Adam([logits], 0.01, amsgrad=True, fused=True)
    for _ in range(STEPS):
        away, moved, apart = _distances(logits, *single)
        loss = (500 * torch.relu(moved - SEARCHED) - away).sum() - apart.sum()
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
    away, moved, _ = _distances(logits.detach().double(), *exact)
    return np.asarray(torch.where(moved <= within, away, 0.0).clamp_min(0.0).max(-1).values.numpy())


def _distances(logits: Tensor, weights: Tensor, said: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """JSD from the model's own attention, |Δp|, and the mean JSD between candidates, each also taken with itself.

    Parameters
    ----------
    logits : (texts, candidates, T)
    weights, said : (texts, T)
    real : (texts, 1, T)
        Where there is a word.
    """
    candidates = torch.softmax(logits.masked_fill(~real, -torch.inf), -1)
    entropies = _negative_entropy(candidates)
    away = (entropies + _negative_entropy(weights)[:, None]) / 2 - _negative_entropy(
        (candidates + weights[:, None]) / 2
    )
    before = torch.sigmoid((weights * said).sum(-1, keepdim=True))
    moved = (torch.sigmoid(torch.einsum("bkt,bt->bk", candidates, said)) - before).abs()
    one, two = torch.triu_indices(CANDIDATES, CANDIDATES, 1)
    between = _negative_entropy((candidates[:, one] + candidates[:, two]) / 2)
    apart = (entropies[:, one] + entropies[:, two]) / 2 - between
    return away, moved, 2 * apart.sum(-1) / CANDIDATES**2


def _negative_entropy(weights: Tensor) -> Tensor:
    """Σ w ln w over the last axis; nothing where there is no weight."""
    return torch.xlogy(weights, weights.clamp_min(1e-30)).sum(-1)
