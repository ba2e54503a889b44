"""One paragraph that a manager can read: may attention be shown as a reason here? ``docs/audit.md`` has the rule."""

from __future__ import annotations

from collections.abc import Mapping

from regard.audit.result import Comparison, Measure, Result, Verdict

SURE = 0.05  # p values above are no evidence
FAR = 2.0  # times as many units as needed
_SHOWN = 0.3  # rank correlation with a model of shuffled labels


def verdict(results: Mapping[str, Result], main: str, units: str) -> Verdict:
    """Apply the rule.

    Parameters
    ----------
    results
        By name; those that were skipped count as not tested.
    main
        The ranking whose heat map is audited.
    units
        What its units are called.
    """
    flips = results["flips"]
    fraction, never = flips[f"fraction to flip: {main}"], flips[f"never flips: {main}"]
    if fraction.value is None or never.value is None or fraction.random is None:
        return Verdict("not shown", "No text has a word that the model knows, so there was nothing to test.", (), ())
    failed: list[str] = []
    against = _comparison(flips, "fraction to flip", main, "random")
    if not (against.difference < 0 and against.p < SURE):
        failed.append(f"removing {units} by {main} changes decisions no sooner than removing them at random")
    ratio = _measure(flips, f"ratio to the optimum: {main}")
    if ratio is not None and ratio.value is not None and (ratio.upper or ratio.value) > FAR:
        failed.append(f"{main} needs {ratio.value:.1f} times as many {units} as necessary to change a decision")
    worth = _comparison(results["comprehensiveness"], "comprehensiveness", main, "random")
    if not (worth.difference > 0 and worth.p < SURE):
        failed.append(f"the {units} that {main} puts first are worth no more than random ones")
    untested = []
    gap = _found(results, "uniform attention", "accuracy gap")
    if gap is None:
        untested.append("whether attention is needed at all")
    elif not (gap.lower or 0.0) > 0:
        failed.append("a model that attends to all words alike predicts as well")
    labels = _found(results, "label randomisation", "tau: attention")
    if labels is None:
        untested.append("whether the map differs from that of a model which learned nothing")
    elif labels.value is not None and abs(labels.value) > _SHOWN:
        failed.append("a model trained on shuffled labels gives much the same map")
    answer = "no" if failed else ("not shown" if untested else "yes")
    better = _better(flips, main)
    return Verdict(
        answer,
        _paragraph(answer, main, units, failed, untested, better, flips),
        _numbers(main, units, flips, gap, worth),
        tuple(failed),
    )


def _paragraph(
    answer: str,
    main: str,
    units: str,
    failed: list[str],
    untested: list[str],
    better: str | None,
    flips: Result,
) -> str:
    if answer == "no":
        text = f"No: {main} may not be shown as the reason for these decisions, because {_listed(failed)}."
    elif answer == "yes":
        text = (
            f"Yes, with care: {main} passed every test here. It finds the {units} that carry a "
            f"decision much sooner than "
            "chance and nearly as soon as is possible, it is needed for the accuracy, and it depends "
            "on what was learned."
        )
    else:
        text = (
            f"Not shown yet: nothing that was measured speaks against {main}, but not everything was tested "
            f"({_listed(untested)}): run all tests before it is shown as a reason."
        )
    if better is not None:
        measure = flips[f"fraction to flip: {better}"]
        assert measure.value is not None, "a better ranking was measured"
        optimum = measure.optimum is not None and measure.value <= measure.optimum * (1 + 1e-9)
        text += (
            f" {'Show instead' if answer == 'no' else 'Better still is'} the {better}: removing "
            f"{units} in its order changes "
            f"the decision after {measure.value:.1%} of them"
            f"{', the fewest with which it can be done' if optimum else ''}."
        )
    elif answer == "no":
        text += " No other ranking that was tested is clearly better: show no heat map, or test other explanations."
    return text


def _numbers(
    main: str, units: str, flips: Result, gap: Measure | None, worth: Comparison
) -> tuple[tuple[str, float, str], ...]:
    fraction, never = flips[f"fraction to flip: {main}"], flips[f"never flips: {main}"]
    assert fraction.value is not None
    assert never.value is not None
    assert fraction.random is not None
    best = "" if fraction.optimum is None else f", the fewest possible is {fraction.optimum:.1%}"
    numbers = [
        (
            "fraction to flip",
            fraction.value,
            f"of the {units} must go by {main} before the decision changes; at random it is "
            f"{fraction.random:.1%}{best}",
        ),
        ("never flips", never.value, f"of the texts keep their decision however many {units} go by {main}"),
    ]
    if gap is not None and gap.value is not None:
        numbers.append(("accuracy gap", gap.value, "of accuracy is what learned attention adds to equal attention"))
    else:
        numbers.append(
            (
                "comprehensiveness over random",
                worth.difference,
                f"of probability is what the top of {main} costs beyond that of a random ranking",
            )
        )
    return tuple(numbers)


def _better(flips: Result, main: str) -> str | None:
    """The ranking that needs the fewest, where it is clearly better than the main one and than chance."""
    own = flips[f"fraction to flip: {main}"]
    found = {
        measure.name.split(": ", 1)[1]: measure
        for measure in flips.measures
        if measure.name.startswith("fraction to flip: ") and not measure.name.endswith((": random", ": optimum"))
    }
    preferred = sorted(found, key=lambda name: (found[name].value or 1.0, name != "contribution"))
    for name in preferred:
        measure = found[name]
        if name == main or measure.upper is None or own.lower is None or measure.random is None:
            continue
        if measure.upper < own.lower and measure.upper < measure.random:
            return name
    return None


def _comparison(result: Result, measure: str, one: str, two: str) -> Comparison:
    return next(c for c in result.comparisons if (c.measure, c.one, c.two) == (measure, one, two))


def _measure(result: Result, name: str) -> Measure | None:
    return next((measure for measure in result.measures if measure.name == name), None)


def _found(results: Mapping[str, Result], test: str, name: str) -> Measure | None:
    result = results.get(test)
    return None if result is None or result.skipped else _measure(result, name)


def _listed(sentences: list[str]) -> str:
    return sentences[0] if len(sentences) == 1 else f"{'; '.join(sentences[:-1])}; and {sentences[-1]}"
