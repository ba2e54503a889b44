"""A server meets clients of every kind: it answers, or refuses in a sentence, and goes on."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

fastapi = pytest.importorskip("fastapi", reason="the server comes with the extra `serve`")

import httpx  # noqa: E402 - after the check
from hypothesis import HealthCheck, Phase, given, settings  # noqa: E402

from regard import AttentionClassifier  # noqa: E402
from regard.corpus import demo  # noqa: E402
from regard.errors import SettingError  # noqa: E402
from regard.explain import explain  # noqa: E402
from regard.serve import Limits, application  # noqa: E402
from regard.serve.bodies import as_json  # noqa: E402

LIMITS = Limits(texts=20, characters=2000, body=20_000, seconds=2.0, requests=8, connections=40)
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of two classes."""
    folder, corpus = tmp_path_factory.mktemp("models"), demo()
    for name, seed in (("one", 0), ("two", 1)):
        half = slice(0, 300) if seed == 0 else slice(300, 600)
        AttentionClassifier(epochs=1, validation_fraction=0).fit(corpus.texts[half], corpus.labels[half]).save(
            folder / f"{name}.regard"
        )
    return folder


@pytest.fixture(scope="module")
def app(models):
    return application(models / "one.regard", LIMITS)


def alone(run):
    """What a coroutine returns, in a thread of its own: elsewhere a browser's loop may be running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(run())).result()


def ask(app, *requests, together=False):
    """The answers to requests: (method, path, keywords of httpx)."""

    async def run():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
            sent = [client.request(method, path, **more) for method, path, more in requests]
            return await asyncio.gather(*sent) if together else [await one for one in sent]

    return alone(run)


def post(app, path, body, **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ask(app, ("POST", path, {"content": content, "headers": {**JSON, **headers}}))[0]


def expect_refusal(answer, status, *words):
    assert answer.status_code == status, answer.text
    assert list(answer.json()) == ["detail"]
    detail = answer.json()["detail"]
    assert detail.endswith(".")
    assert "\n" not in detail
    for word in words:
        assert word in detail


# -- answers -------------------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(app, models):
    model = AttentionClassifier.load(models / "one.regard")
    texts = ["Not good at all!", "", "wonderful " * 190, "naïve 👍🏽 İ", "<br />", *demo().texts[600:610]]
    answer = post(app, "/predict", {"texts": texts}).json()
    quick = [post(app, "/predict", {"texts": text}).json()["predictions"][0] for text in texts]

    wanted = model.predict_proba(texts)
    for found in (answer["predictions"], quick):
        assert [each["prediction"] for each in found] == model.predict(texts).tolist()
        np.testing.assert_allclose([list(each["probabilities"].values()) for each in found], wanted, rtol=0, atol=1e-12)
        np.testing.assert_allclose([each["probability"] for each in found], wanted.max(axis=1), rtol=0, atol=1e-12)


def test_explanations_are_those_of_the_model(app, models):
    texts = ["The food was not good.", ""]
    answer = post(app, "/explain", {"texts": texts}).json()

    model = AttentionClassifier.load(models / "one.regard")
    assert answer["explanations"] == [each.to_dict() for each in explain(model, texts)]


@pytest.mark.parametrize(
    "kind",
    [pytest.param("hardmax", marks=pytest.mark.slow), "classes", pytest.param("network", marks=pytest.mark.slow)],
)
def test_every_kind_of_model_is_served(kind, tmp_path):
    corpus = demo()
    texts, labels = corpus.texts[:200], corpus.labels[:200]
    if kind == "hardmax":
        from regard import HardmaxClassifier

        clf = HardmaxClassifier(epochs=1, alpha=1, validation_fraction=0).fit(texts, labels)
    elif kind == "classes":
        clf = AttentionClassifier(epochs=1, validation_fraction=0).fit(texts, [i % 3 for i in range(200)])
    else:
        pytest.importorskip("torch", reason="networks come with the extra `torch`")
        from regard import NeuralAttentionClassifier

        clf = NeuralAttentionClassifier(encoder="lstm", dim=8, epochs=1, validation_fraction=0).fit(texts, labels)
    clf.save(tmp_path / "m.regard")
    app = application(tmp_path / "m.regard", LIMITS)

    asked = ["not good at all", "", *corpus.texts[200:205]]
    found = post(app, "/predict", {"texts": asked}).json()["predictions"]
    chances = [list(each["probabilities"].values()) for each in found]
    np.testing.assert_allclose(chances, clf.predict_proba(asked), atol=1e-6 if kind == "network" else 1e-12)
    assert [each["prediction"] for each in found] == clf.predict(asked).tolist()
    told = post(app, "/explain", {"texts": asked}).json()["explanations"]
    assert [each["prediction"] for each in told] == clf.predict(asked).tolist()
    about = ask(app, ("GET", "/model", {}))[0].json()
    assert about["kind"] == clf.kind
    assert about["classes"] == clf.classes_.tolist()


def test_the_page_of_the_model_is_at_the_root(models):
    app = application(models / "one.regard", Limits(seconds=120))
    first, again = ask(app, ("GET", "/", {}), ("GET", "/", {}))

    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.text.startswith("<!doctype html>")
    assert again.content == first.content


def test_an_operator_sees_what_happens(app):
    post(app, "/predict", {"texts": ["good", "bad"]})
    post(app, "/nowhere", {})
    health, ready, metrics = ask(app, *(("GET", path, {}) for path in ("/health", "/ready", "/metrics")))

    assert health.json() == {"status": "ok"}
    assert ready.json()["ready"] is True
    assert ready.json()["problem"] is None
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = metrics.text.splitlines()
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.e]+')
    assert all(sample.fullmatch(line) for line in lines if not line.startswith("#"))
    assert any(line.startswith('regard_requests_total{path="/predict",status="200"}') for line in lines)
    assert any(line.startswith('regard_requests_total{path="other",status="404"}') for line in lines)
    count = next(line for line in lines if line.startswith('regard_request_seconds_count{path="/predict"}'))
    last = next(line for line in lines if 'path="/predict",le="+Inf"' in line)
    assert count.split()[-1] == last.split()[-1]


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/predict", "/explain"])
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 422, ["got nothing"]),
        (b"nonsense", 400, ["JSON"]),
        (b'{"texts": "\xff"}', 400, ["JSON"]),
        (b"[" * 9000, 400, ["JSON"]),
        (b'{"texts":' + b"[" * 5000 + b"]" * 5000 + b"}", 400, ["JSON"]),
        (b'{"texts": ' + b"9" * 5000 + b"}", 400, ["JSON"]),
        (b'{"texts": NaN}', 422, ["a number"]),
        (b'{"texts": [1e999]}', 422, ["a number", "place 0"]),
        (b'{"texts": "\\ud800"}', 422, ["surrogate"]),
        (b"null", 422, ["got nothing"]),
        ([], 422, ["a list"]),
        ("good", 422, ["a string"]),
        ({}, 422, ["no `texts`"]),
        ({"texts": []}, 422, ["1 to 20 texts", "got 0"]),
        ({"texts": ["x"] * 21}, 422, ["got 21"]),
        ({"texts": [None]}, 422, ["nothing", "place 0"]),
        ({"texts": {"a": "b"}}, 422, ["an object"]),
        ({"texts": ["a", "x" * 2001]}, 422, ["2,000 characters", "place 1", "2,001"]),
        ({"texts": "a", "label": "b"}, 422, ["leave them out"]),
        (b" " * 20_001, 413, ["20,000 bytes"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_cannot_be_read_gets_one_sentence(app, path, body, status, words):
    expect_refusal(post(app, path, body), status, *words)


def test_refusals_repeat_nothing_of_a_text(app):
    for body in ({"texts": ["secret", 5]}, {"texts": ["secret" * 400]}, {"secret": 1}, {"texts": {"secret": 1}}):
        assert "secret" not in post(app, "/predict", body).text


def test_explaining_has_a_limit_of_its_own(app):
    expect_refusal(post(app, "/explain", {"texts": ["x" * 1500] * 2}), 413, "2,000 characters together")


def test_other_types_paths_and_methods_are_refused(app):
    expect_refusal(post(app, "/predict", b"texts=a", **{"content-type": "text/plain"}), 415, "application/json")
    form = {"data": {"texts": "a"}}
    answers = ask(app, ("POST", "/predict", form), ("GET", "/predict", {}), ("GET", "/x", {}), ("DELETE", "/", {}))
    for answer, status in zip(answers, (415, 405, 404, 405), strict=True):
        expect_refusal(answer, status)
    assert answers[1].headers["allow"] == "POST"
    assert [each.status_code for each in ask(app, ("GET", "/docs", {}), ("GET", "/redoc", {}))] == [404, 404]


def test_a_key_is_asked_for_where_there_is_one(models):
    app = application(models / "one.regard", LIMITS, key="a secret key")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "a secret key"}):
        expect_refusal(post(app, "/predict", {"texts": "a"}, **headers), 401, "Authorization: Bearer")
    sent = {"authorization": "Bearer a secret key"}
    assert post(app, "/predict", {"texts": "a"}, **sent).status_code == 200
    closed = [("GET", path, {}) for path in ("/", "/model", "/metrics", "/openapi.json", "/x")]
    assert {each.status_code for each in ask(app, *closed)} == {401}
    assert {each.status_code for each in ask(app, ("GET", "/health", {}), ("GET", "/ready", {}))} == {200}
    document = ask(app, ("GET", "/openapi.json", {"headers": sent}))[0].json()
    assert document["paths"]["/predict"]["post"]["security"] == [{"key": []}]
    assert document["paths"]["/health"]["get"]["security"] == []


def test_other_origins_may_ask_only_if_they_are_named(app, models):
    origin = {"headers": {"origin": "https://a.example"}}
    assert not [h for h in ask(app, ("GET", "/model", origin))[0].headers if h.startswith("access-control")]
    named = application(models / "one.regard", LIMITS, cors=["https://a.example"])
    allowed = ask(named, ("GET", "/model", origin), ("GET", "/model", {"headers": {"origin": "https://b.example"}}))
    assert allowed[0].headers["access-control-allow-origin"] == "https://a.example"
    assert "access-control-allow-origin" not in allowed[1].headers
    guarded = application(models / "one.regard", LIMITS, cors=["https://a.example"], key="a secret key")
    before = {"origin": "https://a.example", "access-control-request-method": "POST"}
    assert ask(guarded, ("OPTIONS", "/predict", {"headers": before}))[0].status_code == 200


def test_more_requests_than_can_be_answered_are_told_to_try_again(models, monkeypatch):
    app = application(models / "one.regard", Limits(requests=2, seconds=5))
    from regard.serve.served import Served

    going = threading.Event()
    real = Served.explain
    monkeypatch.setattr(Served, "explain", lambda self, texts: going.wait(5) and real(self, texts))
    body = {"content": b'{"texts": "good"}', "headers": JSON}

    async def run():
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
            waiting = [asyncio.create_task(client.post("/explain", **body)) for _ in range(2)]
            await asyncio.sleep(0.1)
            refused, alive = await client.post("/predict", **body), await client.get("/health")
            going.set()
            return refused, alive, await asyncio.gather(*waiting)

    refused, alive, answered = alone(run)
    expect_refusal(refused, 503, "try again")
    assert refused.headers["retry-after"] == "1"
    assert alive.status_code == 200
    assert [each.status_code for each in answered] == [200, 200]


def test_work_that_takes_too_long_is_given_up_and_still_counts_until_it_ends(models, monkeypatch):
    app = application(models / "one.regard", Limits(requests=1, seconds=0.2))
    from regard.serve.served import Served

    going = threading.Event()
    monkeypatch.setattr(Served, "explain", lambda self, texts: going.wait(5) and b"{}")
    expect_refusal(post(app, "/explain", {"texts": "good"}), 503, "0.2 seconds")
    expect_refusal(post(app, "/explain", {"texts": "good"}), 503, "more to do")
    going.set()
    time.sleep(0.1)
    assert post(app, "/explain", {"texts": "good"}).status_code == 200


def test_an_error_inside_is_one_sentence_and_a_traceback_in_the_log(models, monkeypatch, caplog):
    app = application(models / "one.regard", LIMITS)
    from regard.serve.served import Served

    def broken(self, texts):
        raise ZeroDivisionError

    monkeypatch.setattr(Served, "explain", broken)
    with caplog.at_level("INFO", logger="regard.serve"):
        expect_refusal(post(app, "/explain", {"texts": "secret"}), 500, "log")
    assert any(record.exc_info for record in caplog.records)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("name", ["texts", "characters", "body", "seconds", "requests", "connections"])
def test_limits_are_above_zero(name):
    with pytest.raises(SettingError, match=f"`{name}` must be above zero"):
        Limits(**{name: 0})


def test_json_has_no_infinity():
    assert as_json({"a": [float("-inf"), 1.5, "x"], "b": {"c": float("nan")}}) == b'{"a":[null,1.5,"x"],"b":{"c":null}}'


@pytest.mark.parametrize("guarded", [False, True])
def test_whatever_the_openapi_document_allows_is_answered_as_it_says(models, guarded):
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis comes with the extra `dev`")
    key = "a secret key" if guarded else None
    # A body that is too large gets 413, which schemathesis does not count among refusals.
    app = application(models / "one.regard", replace(LIMITS, seconds=120, body=4_000_000), key=key)
    headers = {"Authorization": f"Bearer {key}"} if guarded else {}
    assert ask(app, ("GET", "/", {"headers": headers}))[0].status_code == 200  # schemathesis waits 10 s for a page
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)
    asked = set()

    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in schemathesis.GenerationMode:

            @settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def check(case):
                asked.add(case.path)
                case.call_and_validate(headers=headers)

            if mode is schemathesis.GenerationMode.POSITIVE or operation.body:
                check()
    assert asked == {"/", "/predict", "/explain", "/model", "/health", "/ready", "/metrics"}
