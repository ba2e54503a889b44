"""Sentences end where readers see them end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tokens import tokenize
from regard.tokens.sentences import sentences


def cut(text):
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["It was good.", "Very good!", "Was it?", "Yes…", "Really."],
        ["Mr. Lee met Dr. No at St. Mary's.", "They left."],
        ["See e.g. the ending, i.e. the last scene, vs. the book.", "Fine."],
        ["It was made by J. R. R. Tolkien.", "So was I.", "Then we went."],
        ["Filmed in the U.S. in 1990.", "Good."],
        ['"Why?" he asked.', '"Because!" she said.', "He left."],
        ['He called it "great."', "I did not."],
        ["Well... it was long...", "But good."],
        ["it was bad. ".strip(), "i hated it.", "never again!", "really."],
        ["I give it 7.5 of 10.", "Not 8."],
        ["It lasts approx. two hours, i.e. too long.", "He came at 5 p.m. and left."],
        ["(It was dull.)", "[So they say.]", "«Oui.»", "Non."],
        ["What?!", "No!!!", "Why..?", "Oh."],
        ["She and Robert Downey Jr. play well.", "Etc. etc."],
    ],
)
def test_sentences_that_are_joined_are_cut_again(expected):
    assert cut(" ".join(expected)) == expected


def test_line_breaks_of_html_and_blank_lines_end_sentences_and_are_no_part_of_them():
    text = "No stop here<br /><br />Next one<BR>third<p>in a paragraph</p>\n\nafter a blank\nline"

    assert cut(text) == ["No stop here", "Next one", "third", "in a paragraph", "after a blank\nline"]


def test_other_markup_neither_ends_a_sentence_nor_hides_its_end():
    assert cut('It was <i>so</i> good.</b> Then <a href="x. Y">came. the end</a> it.') == [
        "It was <i>so</i> good.",
        '</b> Then <a href="x. Y">came.',
        "the end</a> it.",
    ]


@pytest.mark.parametrize("text", ["", "   ", "\n\n\n", "<br />", "<br/><br/>"])
def test_nothing_has_no_sentences(text):
    assert cut(text) == []


def test_a_text_without_stops_is_one_sentence():
    assert cut("  just some words  ") == ["just some words"]


TEXTS = st.lists(
    st.sampled_from(
        [
            "film",
            "Mr.",
            "good.",
            "U.S.",
            "...",
            "<br />",
            "<i>",
            '"Oh!"',
            "e.g.",
            "\n\n",
            "\n",
            "?",
            "I.",
            "<a b. C>",
            "10.",
        ]
    )
)


@given(TEXTS, st.sampled_from([" ", "  ", "\n"]))
def test_sentences_have_all_tokens_of_the_text_once_and_in_order(pieces, space):
    text = space.join(pieces)
    found = sentences(text)

    together = [(t.text, t.start + a, t.end + a) for a, b in found for t in tokenize(text[a:b])]

    assert together == [tuple(token) for token in tokenize(text)]
    assert all(a < b for a, b in found)
    assert all(before[1] <= after[0] for before, after in zip(found, found[1:], strict=False))


@given(st.text(max_size=40))
def test_any_text_is_cut_without_losing_anything_but_space_and_breaks(text):
    found = sentences(text)

    assert all(text[a:b] == text[a:b].strip() != "" for a, b in found)
