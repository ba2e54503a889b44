"""Transformers are audited word by word: against reading again, other ways to the same numbers, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed: pip install '.[hf]'")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install '.[hf]'")

from regard.audit import HuggingFaceSource, audit  # noqa: E402 - they need what was looked for
from regard.audit.pretrained import named  # noqa: E402
from regard.audit.subwords import Reader, cutting, words  # noqa: E402
from regard.errors import DataError, ModelFileError, SettingError  # noqa: E402
from tests.audit.transformers_cases import TEXTS, folder, model, tokenizer  # noqa: E402

KINDS = ("bert", "distilbert", "roberta", "gpt2", "xlm")
CUTS = ("bert", "roberta", "gpt2", "xlm")
WORDS = {kind: tokenizer(kind) for kind in CUTS}
STRANGE = [
    "",
    "film",
    "!",
    "   ",
    "电影很好看",
    "😀👍🏽 great",
    "don't\n\nstop  it",
    "a\u0301 e\u0301",
    "x" * 300,
    "\ud800 half",
    "[SEP] <s>",
]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that wait for each other take longer than these models."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def source(kind="bert", scores=("last-cls",), removal="delete", **more):
    cut = WORDS["bert" if kind == "distilbert" else kind]
    return HuggingFaceSource(model(kind, cut, **more), cut, scores=list(scores), removal=removal)


def asked_alone(of, text):
    """The probabilities of one text, by the plainest use of the library."""
    inputs = of.tokenizer(text, return_tensors="pt", truncation=True, max_length=64)
    with torch.no_grad():
        return torch.softmax(of.model(**inputs).logits.double(), dim=1)[0].numpy()


def first(of, texts):
    return next(iter(of.batches(texts)))


# -- words and sub-words -------------------------------------------------------------------------------------------

signs = st.lists(
    st.sampled_from(
        ["a", "great", "film", "aren't", "funny", ",", "!", "-", "5€", "电影", "😀", "é", "e\u0301", " ", "  ", "\n"]
    ),
    max_size=12,
)


@pytest.mark.parametrize("kind", CUTS)
@given(pieces=signs, gone=st.integers(0, 2**12 - 1))
@settings(max_examples=60)
def test_sub_words_are_cut_out_only_where_that_equals_reading_again(kind, pieces, gone):
    reader = Reader(WORDS[kind], 64)
    reading = reader.read(["".join(pieces)])[0]
    keep = np.array([not gone >> i & 1 for i in range(len(reading.spans))], bool)

    again = reader.ids([reading.without(keep)])[0][0]

    if reading.cuts_alike(keep):
        assert reading.cut(keep)[0].tolist() == again.tolist()


@pytest.mark.parametrize("kind", CUTS)
def test_most_words_of_ordinary_texts_can_be_cut_out(kind):
    readings = Reader(WORDS[kind], 64).read(TEXTS)
    cases = [(reading, np.arange(len(reading.spans)) != i) for reading in readings for i in range(len(reading.spans))]

    alike = np.mean([reading.cuts_alike(keep) for reading, keep in cases])

    assert alike == 1.0 if kind == "bert" else alike > 0.4


@pytest.mark.parametrize("kind", CUTS)
@given(pieces=signs)
@settings(max_examples=25)
def test_every_sub_word_is_a_part_of_one_word_and_words_cover_what_is_read(kind, pieces):
    text = "".join(pieces)
    reading = Reader(WORDS[kind], 1000).read([text])[0]

    assert set(reading.unit[reading.unit >= 0].tolist()) == set(range(len(reading.spans)))
    assert all(a.end <= b.start for a, b in zip(reading.spans[:-1], reading.spans[1:], strict=True))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in reading.spans)
    assert reading.without(np.ones(len(reading.spans), bool)) == text


def test_neighbours_do_not_run_together_when_what_parted_them_is_removed():
    reading = Reader(WORDS["roberta"], 64).read(["well-made film"])[0]

    assert [reading.text[start:end] for start, end in reading.spans] == ["well", "-", "made", "film"]
    assert reading.without(np.array([True, False, True, True])) == "well made film"
    assert not reading.cuts_alike(np.array([True, False, True, True]))


def test_words_that_share_a_sub_word_are_one():
    spans, unit = words("电影 ok", np.array([[0, 2], [3, 5]]))

    assert spans == [(0, 2), (3, 5)]
    assert unit.tolist() == [0, 1]


@pytest.mark.parametrize(
    "form",
    [
        {"normalizer": None, "pre_tokenizer": None, "model": {}},
        {"normalizer": {"type": "Prepend"}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {}},
        {"normalizer": None, "pre_tokenizer": {"type": "Split"}, "model": {}},
        {"normalizer": None, "pre_tokenizer": {"type": "ByteLevel"}, "model": {"dropout": 0.1}},
        {"normalizer": {"type": "Strip"}, "pre_tokenizer": {"type": "ByteLevel"}, "model": {}},
    ],
)
def test_an_unknown_way_of_cutting_is_never_taken_for_a_known_one(form):
    assert cutting(form) is None


# -- asking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_among_others_is_read_as_it_is_alone(kind):
    of = source(kind)

    found = of.predict(TEXTS)

    np.testing.assert_allclose(found, [asked_alone(of, text) for text in TEXTS], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_leaving_out_is_reading_the_text_without_the_word(kind):
    of = source(kind)
    batch = first(of, TEXTS[:2])
    change, _ = batch.leave_one_out()

    slow = []
    for text, label in zip(TEXTS[:2], batch.explained, strict=True):
        reading = of._reader.read([text])[0]
        whole = asked_alone(of, text)[label]
        for i in range(len(reading.spans)):
            slow.append(whole - asked_alone(of, reading.without(np.arange(len(reading.spans)) != i))[label])

    np.testing.assert_allclose(change, slow, atol=1e-6)


def test_masking_puts_the_sign_in_place_of_each_sub_word():
    of = source("bert", removal="mask")
    reading = of._reader.read(["filmstory film"])[0]
    batch = first(of, ["filmstory film"])

    ids = torch.tensor(np.where(reading.unit == 0, of.tokenizer.mask_token_id, reading.ids))[None]
    with torch.no_grad():
        masked = torch.softmax(of.model(input_ids=ids).logits, dim=1)[0].numpy()

    assert (reading.unit == 0).sum() > 1
    assert batch.leave_one_out()[0][0] == pytest.approx(batch.chances[0].max() - masked[batch.explained[0]], abs=1e-6)


def test_no_question_is_asked_twice():
    of = source()
    batch = first(of, TEXTS[:1])
    order = np.arange(batch.starts[-1], dtype=np.int32)

    batch.erase(order)
    before = of.evaluations
    batch.erase(order)

    assert of.evaluations == before
    assert before == 2 * batch.starts[-1]


def test_only_the_weights_need_the_slow_kernel():
    of, used = source(scores=["last-cls", "grad-x-input"]), []
    of.model.register_forward_hook(lambda module, *_: used.append(module.config._attn_implementation))
    batch = first(of, TEXTS)

    batch.leave_one_out()
    asking = set(used)
    used.clear()
    _ = batch.rankings

    assert asking == {"sdpa"}
    assert set(used) == {"eager", "sdpa"}
    assert of.model.config._attn_implementation == "sdpa"


# -- explaining ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_attention_is_that_of_the_model_summed_over_sub_words(kind):
    of = source(kind, ["last-cls", "heads-mean", "rollout", "head:1.0", "head:0.1"])
    text = TEXTS[4]
    found, reading = first(of, [text]).rankings, of._reader.read([text])[0]
    of.model.set_attn_implementation("eager")
    with torch.no_grad():
        layers = of.model(**of.tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
    place = len(reading.ids) - 1 if kind == "gpt2" else 0
    layers = [layer[0].double().numpy() for layer in layers]

    rollout = np.eye(len(reading.ids))
    for layer in layers:
        rollout = (layer.mean(axis=0) / 2 + np.eye(len(rollout)) / 2) @ rollout
    expected = {
        "last-layer attention": layers[-1].mean(axis=0)[place],
        "mean attention": np.mean([layer.mean(axis=0)[place] for layer in layers], axis=0),
        "attention rollout": rollout[place],
        "head 1.0": layers[1][0, place],
        "head 0.1": layers[0][1, place],
    }
    for name, row in expected.items():
        by_word = [row[reading.unit == i].sum() for i in range(len(reading.spans))]
        np.testing.assert_allclose(found[name], by_word, atol=1e-6)
    assert list(found) == [*expected, "leave one out"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [("-", "+"), ("a", "b", "c")])
def test_gradient_times_input_is_the_slope_of_the_log_odds_along_the_embeddings(kind, labels):
    of = source(kind, ["grad-x-input"], labels=labels)
    of.model.double()
    text = TEXTS[1]
    batch, reading = first(of, [text]), of._reader.read([text])[0]
    table, label, eps = of.model.get_input_embeddings(), int(batch.explained[0]), 1e-5

    def log_odds(word, size):
        def grown(_, __, output):
            return output * torch.tensor(1 + size * (reading.unit == word))[None, :, None]

        handle = table.register_forward_hook(grown)
        p = asked_alone(of, text)[label]
        handle.remove()
        return np.log(p / (1 - p))

    slopes = [(log_odds(i, eps) - log_odds(i, -eps)) / (2 * eps) for i in range(len(reading.spans))]
    np.testing.assert_allclose(batch.rankings["gradient × input"], slopes, rtol=1e-4, atol=1e-6)


def test_each_head_can_be_audited_by_itself():
    found = audit(source(scores=["heads"]), TEXTS[:2], n_threads=1)

    names = [measure.name for measure in found["flips"].measures]
    assert [f"fraction to flip: head {layer}.{head}" in names for layer in (0, 1) for head in (0, 1)] == [True] * 4


def test_leaving_out_can_be_the_main_ranking():
    assert audit(source(scores=["leave-one-out"]), TEXTS[:2], n_threads=1).about["ranking"] == "leave one out"


# -- whole audits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bert", "gpt2", "xlm"])
def test_strange_texts_are_audited(kind):
    found = audit(source(kind, ["last-cls", "grad-x-input"]), STRANGE, n_threads=1)

    assert json.loads(found.to_json())["texts"] == len(STRANGE)
    assert found["flips"]["fraction to flip: last-layer attention"].undefined >= 2
    for example in found.examples:
        assert len(example.spans) == len(example.attention)


def test_a_longer_text_than_the_model_reads_is_cut_and_counted():
    of = source()
    long = " ".join(["great", "dull"] * 5000)

    found = audit(of, [long, "film"], n_threads=1)

    assert of.truncated == found.about["source"]["texts truncated"] == 1
    assert found.about["source"]["sub-words read"] == 64
    assert found.about["units"] < 64
    assert max(span.end for span in of.spans(long)) < 400
    np.testing.assert_allclose(of.predict([long])[0], asked_alone(of, long), atol=1e-6)


def test_the_limit_of_places_that_start_after_the_paddings_is_known():
    assert source("roberta")._reader.longest == 64
    assert HuggingFaceSource(model("bert", WORDS["bert"]), tokenizer("bert", 20))._reader.longest == 20


def test_equal_seeds_give_equal_audits():
    one, two = (audit(source(), TEXTS[:2], n_threads=threads) for threads in (1, 2))

    assert [result.measures for result in one.results] == [result.measures for result in two.results]


def test_a_single_output_is_the_logit_of_the_second_class():
    of = source(labels=("toxic",), scores=["grad-x-input"])
    batch = first(of, TEXTS[:1])
    with torch.no_grad():
        logit = of.model(**of.tokenizer(TEXTS[0], return_tensors="pt")).logits.item()

    assert of.classes.tolist() == ["not toxic", "toxic"]
    assert batch.chances[0, 1] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)
    assert audit(of, TEXTS[:2], [0, 1], n_threads=1).verdict.text


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_weights_in_half_precision_are_read_as_single(kind, tmp_path):
    folder(tmp_path)
    half = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).to(getattr(torch, kind))
    half.save_pretrained(tmp_path)

    of = HuggingFaceSource.load(tmp_path)

    assert of.about["precision"] == "float32"
    np.testing.assert_allclose(of.predict(TEXTS).sum(axis=1), 1)


def test_a_model_in_half_precision_that_is_given_is_used_as_it_is():
    of = source()
    of.model.to(torch.bfloat16)

    assert audit(of, TEXTS[:2], n_threads=1).about["source"]["precision"] == "bfloat16"


# -- labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["NEG", "POS"], ["NEG", "POS"]),
        (["pos", "Neg"], ["POS", "NEG"]),
        ([1, 0], ["POS", "NEG"]),
        ([True, False], ["POS", "NEG"]),
        ([1.0, 0.0], ["POS", "NEG"]),
        (["0", "0"], ["NEG", "NEG"]),
    ],
)
def test_labels_are_the_models_by_name_or_by_number(labels, expected):
    assert named(np.array(labels), np.array(["NEG", "POS"])).tolist() == expected


@pytest.mark.parametrize("labels", [["bad", "good"], [1, 2], ["NEG", "2"]])
def test_other_labels_are_refused(labels):
    with pytest.raises(DataError, match="--label-name"):
        named(np.array(labels), np.array(["NEG", "POS"]))


def test_classes_may_stand_in_any_order():
    of = source(labels=("positive", "negative", "neutral"))

    assert of.classes.tolist() == ["positive", "negative", "neutral"]
    assert audit(of, TEXTS[:3], ["neutral", "Positive", "negative"], n_threads=1).verdict.text


# -- what cannot be used -------------------------------------------------------------------------------------------


def broken(path, what):
    folder(path)
    files = {
        "config": lambda: (path / "config.json").unlink(),
        "json": lambda: (path / "config.json").write_text("{"),
        "type": lambda: (path / "config.json").write_text("{}"),
        "unknown type": lambda: (path / "config.json").write_text('{"model_type": "martian"}'),
        "weights": lambda: (path / "model.safetensors").unlink(),
        "torn": lambda: (path / "model.safetensors").write_bytes(b"torn"),
        "tokenizer": lambda: (path / "tokenizer.json").unlink(),
        "torn tokenizer": lambda: (path / "tokenizer.json").write_text("{"),
    }
    files[what]()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("config", "config.json"),
        ("json", "must be JSON"),
        ("type", "model_type"),
        ("unknown type", "martian"),
        ("weights", "weights"),
        ("torn", "can load"),
        ("tokenizer", "tokenizer.json"),
        ("torn tokenizer", "can load"),
    ],
)
def test_a_broken_folder_is_named_in_one_sentence(tmp_path, what, said):
    broken(tmp_path, what)

    with pytest.raises(ModelFileError, match=said) as caught:
        HuggingFaceSource.load(tmp_path)

    assert "\n" not in str(caught.value)


def test_a_folder_without_a_trained_classifier_is_refused(tmp_path):
    words_ = WORDS["bert"]
    model("bert", words_).bert.save_pretrained(tmp_path)
    words_.save_pretrained(tmp_path)

    with pytest.raises(ModelFileError, match="no weights for classifier"):
        HuggingFaceSource.load(tmp_path)


def test_a_name_that_is_no_folder_is_not_fetched_unasked(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ModelFileError, match="--download"):
        HuggingFaceSource.load("somebody/some-model-that-is-not-here")
    with pytest.raises(ModelFileError, match="no such folder"):
        HuggingFaceSource.load("./models/not-here/at-all")


def test_a_tokeniser_that_knows_no_offsets_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(SettingError, match="fast one"):
        HuggingFaceSource(model("bert", WORDS["bert"]), Slow())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"scores": ["rolout"]}, "Did you mean 'rollout'"),
        ({"scores": ["head:2.0"]}, "layer from 0 to 1"),
        ({"scores": ["head:0.2"]}, "head from 0 to 1"),
        ({"scores": []}, "name one of"),
        ({"removal": "zero"}, "'delete' or 'mask'"),
        ({"kind": "gpt2", "removal": "mask"}, "no sign for a mask"),
        ({"problem_type": "multi_label_classification"}, "choose one class"),
        ({"problem_type": "regression", "labels": ("score",)}, "choose one class"),
        ({"labels": ("same", "same")}, "its own name"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(options, said):
    with pytest.raises(SettingError, match=said):
        source(**options)


def test_a_model_without_weights_of_attention_says_what_can_be_audited_instead():
    of = source()
    of.model.forward = lambda **inputs: transformers.modeling_outputs.SequenceClassifierOutput(
        logits=torch.zeros(len(inputs["input_ids"]), 2)
    )

    with pytest.raises(SettingError, match="grad-x-input or leave-one-out"):
        _ = first(of, TEXTS).rankings


def test_numbers_that_are_not_finite_are_refused():
    of = source()
    with torch.no_grad():
        of.model.classifier.weight.fill_(torch.nan)

    with pytest.raises(DataError, match="finite"):
        of.predict(TEXTS)
