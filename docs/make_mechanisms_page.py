"""Write docs/mechanisms.md and its pictures from the catalogue; ``--check`` tells whether they are fresh.

Each picture is the mechanism itself, run: where it has parameters it has first been trained for a moment to
align eight steps with eight sources, each like its neighbours; last with first, or in order where the mechanism
moves forward.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from regard.nn import CATALOGUE, Mechanism, ancestors_of, mechanism

PAGE = Path(__file__).with_name("mechanisms.md")
PICTURES = Path(__file__).with_name("mechanisms")
SIZE, CELL = 8, 14
OPTIONS = {
    "multi_head": {"heads": 2},
    "grouped_query": {"heads": 2},
    "luong_location": {"positions": SIZE},
    "luong_local_m": {"window": 2},
    "luong_local_p": {"window": 3},
    "location_only": {"width": 5},
    "location_sensitive": {"width": 5},
    "dual_global": {"length": SIZE},
    "dual": {"length": SIZE, "local_filters": 4, "filters": 4},
    "graph": {"ancestors": ancestors_of([[], [0], [0], [1], [1], [2], [2], [3], [3, 4], [6]])},
}
CAPTIONS = {
    "query": "Rows are steps, columns sources.",
    "pool": "Rows are documents, columns words; each document has its own words.",
    "documents": "Rows are sentences, columns words.",
    "items": "Rows are users, columns the items of their histories.",
    "codes": "Rows are codes, columns a code and its ancestors.",
}
FORWARD = ("luong_local_m", "location_only", "location_sensitive")
HEAD = """# Mechanisms

<!-- Made by docs/make_mechanisms_page.py from regard.nn.catalogue; edit that. -->

Every mechanism is `score × weigh × combine × state`; `regard.nn.mechanism(name, query_dim=..., key_dim=...)`
builds it, and `regard mechanisms` lists them. Masks are boolean, True = may attend; a row with nothing to
attend to is zero throughout. The pictures were drawn by running each mechanism after a short training: dark
is much attention.

Where another library computes the same, its name is given under "same numbers as"; `regard.nn.libraries` has
`from_keras`, `from_opennmt`, `from_speechbrain` and `from_allennlp`, which turn their modules into ours. The
weighings `sparsemax` and `entmax15` are those of the package entmax. All of this is compared with numbers
recorded from those libraries.
"""


def picture(entry: Mechanism) -> Tensor:
    """Weights to draw, (rows, columns), between 0 and 1."""
    torch.manual_seed(0)
    module = mechanism(entry.name, query_dim=SIZE, key_dim=SIZE, **OPTIONS.get(entry.name, {}))
    match entry.form:
        case "query":
            place = torch.arange(SIZE)
            key = 2 * torch.exp(-((place - place[:, None]) ** 2) / 2)  # neighbours are alike
            order = torch.arange(SIZE) if entry.name in FORWARD else torch.arange(SIZE).flip(0)
            return align(module, key[order], key, order)
        case "pool":
            words = torch.randn(5, SIZE, SIZE)
            weights = module(words).weights
        case "documents":
            weights = module(torch.randn(5, SIZE, SIZE)).weights
        case "items":
            users = torch.randn(5, SIZE)
            history = torch.randn(3, 5, SIZE, SIZE)
            weights = module(users, history[0], history[1], history[2][:, :, None].expand(-1, -1, 3, -1)).weights
        case _:
            weights = module().weights
    return weights.detach()


def align(module: nn.Module, query: Tensor, key: Tensor, order: Tensor) -> Tensor:
    """The weights, after some steps toward an alignment where there is anything to train."""
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.03) if parameters else None
    for _ in range(400 if optimizer else 0):
        weights = module(query, key).weights
        if not weights.requires_grad:
            break
        aligned = weights[..., torch.arange(len(order)), order]
        if aligned.mean() > 0.6:  # enough to see where it looks, and what it leaves to the neighbours
            break
        optimizer.zero_grad()
        (-(aligned + 1e-3).log().mean()).backward()
        optimizer.step()
    weights = module(query, key).weights.detach()
    return weights.mean(0) if weights.ndim > 2 else weights  # the average of the heads


def svg(weights: Tensor) -> str:
    """A heat map; the darkest cell is the greatest weight."""
    rows, columns = weights.shape
    shades = (255 * (1 - weights / weights.max().clamp_min(1e-9))).round().int().tolist()
    square = f'width="{CELL}" height="{CELL}"'
    cells = "\n".join(
        f'<rect x="{CELL * x}" y="{CELL * y}" {square} fill="rgb({shade},{shade},{shade})"/>'
        for y, row in enumerate(shades)
        for x, shade in enumerate(row)
    )
    size = f'width="{CELL * columns}" height="{CELL * rows}"'
    frame = f'<rect {size} fill="none" stroke="rgb(128,128,128)"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n{cells}\n{frame}\n</svg>\n'


def page() -> str:
    """The text of docs/mechanisms.md."""
    names = ["", "| name | paper |", "|---|---|"]
    names += [f"| [`{entry.name}`](#{entry.name}) | {entry.paper} |" for entry in CATALOGUE.values()]
    return "\n".join([HEAD.rstrip(), *names, *(section(entry) for entry in CATALOGUE.values())]) + "\n"


def section(entry: Mechanism) -> str:
    """One mechanism."""
    options = "".join(
        f", {name}=..." for name in OPTIONS.get(entry.name, {}) if name in ("positions", "length", "ancestors")
    )
    dims = "key_dim=64" if entry.form in ("pool", "documents", "codes") else "query_dim=64, key_dim=64"
    same = f"\n\nSame numbers as {entry.same_as}." if entry.same_as else ""
    built = type(mechanism(entry.name, **{"query_dim": 8, "key_dim": 8, **OPTIONS.get(entry.name, {})})).__name__
    return f"""
## {entry.name}

    {entry.formula}

{entry.paper}.

| score | weigh | combine | state |
|---|---|---|---|
| {cell(entry.score)} | {cell(entry.weigh)} | {cell(entry.combine)} | {cell(entry.state)} |

Deviations: {entry.deviations}.{same}

    mechanism("{entry.name}", {dims}{options})  # {built}

![Weights of {entry.name}](mechanisms/{entry.name}.svg)

{CAPTIONS[entry.form]}"""


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", "\\|")


def same_picture(old: str, new: str) -> bool:
    """Equal but for shades that differ by what another processor's rounding does in training, be it a step more."""
    shade = re.compile(r"rgb\((\d+),\d+,\d+\)")
    then, now = ([int(x) for x in shade.findall(text)] for text in (old, new))
    return shade.sub("", old) == shade.sub("", new) and all(abs(a - b) <= 25 for a, b in zip(then, now, strict=True))


def main() -> int:
    """Write, or check."""
    check = "--check" in sys.argv[1:]
    torch.set_num_threads(1)
    stale = []
    pictures = {PICTURES / f"{entry.name}.svg": svg(picture(entry)) for entry in CATALOGUE.values()}
    for path, text in {PAGE: page(), **pictures}.items():
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        if old != text and not (path.suffix == ".svg" and same_picture(old, text)):
            stale.append(path.name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in PICTURES.glob("*.svg"):
        if path not in pictures:
            stale.append(path.name)
            if not check:
                path.unlink()
    if check and stale:
        print(f"Not what docs/make_mechanisms_page.py makes: {', '.join(stale)}. Run it.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
