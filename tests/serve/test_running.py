"""A server as a process: clients that misbehave on the wire, a model that is replaced under it, and its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra `serve`")
pytest.importorskip("uvicorn", reason="the server comes with the extra `serve`")

from regard import AttentionClassifier
from regard.corpus import demo


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models of the same classes."""
    folder, corpus = tmp_path_factory.mktemp("models"), demo()
    for name, part in (("one", slice(0, 300)), ("two", slice(300, 600))):
        clf = AttentionClassifier(epochs=1, validation_fraction=0).fit(corpus.texts[part], corpus.labels[part])
        clf.save(folder / f"{name}.regard")
    return folder


class Running:
    """A server in a process of its own."""

    def __init__(self, folder, *options, **environment):
        self.errors = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "regard", "serve", "m.regard", "--port", "0", *map(str, options)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, **environment},
        )
        self.greeting = self.process.stdout.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)", self.greeting)[1])

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if content[:1] == b"{" else content

    def raw(self, sent, wait=10.0):
        """What comes back on a bare connection until the server closes it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            connection.sendall(sent)
            came = b""
            while piece := connection.recv(65536):
                came += piece
            return came

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(90)
        self.errors.seek(0)
        lines = self.errors.read().splitlines()
        self.errors.close()
        self.process.stdout.close()
        return code, [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def running(models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("running")
    (folder / "m.regard").write_bytes((models / "one.regard").read_bytes())
    server = Running(folder, "--seconds", 1.5, "--body", 10_000, "--texts", 50)
    yield server
    server.stop()


def test_the_wire_is_guarded(running):
    post = b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

    # A body that is shorter than it says, and one that is longer: its rest is no request.
    began = time.monotonic()
    assert b" 408 " in running.raw(post + b'Content-Length: 500\r\n\r\n{"texts": "a"}')
    assert time.monotonic() - began < 6
    came = running.raw(post + b'Content-Length: 14\r\n\r\n{"texts": "a"}SMUGGLED / NONSENSE\r\n\r\n')
    assert came.startswith(b"HTTP/1.1 200 ")
    assert came.count(b"HTTP/1.1 200 ") == 1
    assert b"HTTP/1.1 400 " in came

    # Lengths that are no lengths, contradict each other, or are too large; a body in pieces that never ends.
    for length in (b"-5", b"abc", b"1" * 5000, b"5\r\nContent-Length: 6", b"5\r\nTransfer-Encoding: chunked"):
        answer = running.raw(post + b"Content-Length: " + length + b'\r\n\r\n{"texts": "a"}')
        assert re.match(rb"HTTP/1\.1 4\d\d ", answer), (length, answer)
    assert b" 413 " in running.raw(post + b"Content-Length: 10001\r\n\r\n" + b" " * 10_001)
    pieces = b"1000\r\n" + b" " * 0x1000 + b"\r\n"
    assert b" 413 " in running.raw(post + b"Transfer-Encoding: chunked\r\n\r\n" + 20 * pieces)

    # Heads that are too long, that never end, and that are none.
    assert b" 400 " in running.raw(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: " + b"b" * 100_000)
    assert b" 400 " in running.raw(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
    began = time.monotonic()
    assert running.raw(b"GET /health HTTP/1.1\r\nHost: x\r\nA: b") == b""
    assert running.raw(b"") == b""
    assert time.monotonic() - began < 10

    assert running.ask("GET", "/health") == (200, {"status": "ok"})


def test_slow_clients_keep_nobody_waiting(running):
    slow = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(20)]
    for one in slow:
        one.sendall(
            b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
        )
    began = time.monotonic()
    status, _ = running.ask("POST", "/predict", '{"texts": "good"}')

    assert status == 200
    assert time.monotonic() - began < 1.5
    for one in slow:
        one.settimeout(10)
        assert b" 408 " in one.recv(1000)
        one.close()


def test_a_replaced_model_takes_over_and_no_request_is_lost(models, tmp_path):
    model, bytes_of = tmp_path / "m.regard", {n: (models / f"{n}.regard").read_bytes() for n in ("one", "two")}
    model.write_bytes(bytes_of["one"])
    wanted = {
        n: AttentionClassifier.load(models / f"{n}.regard").predict_proba(["not good at all"])[0] for n in bytes_of
    }
    server = Running(tmp_path)
    met, failures, stop = {}, [], threading.Event()

    def keep_asking():
        while not stop.is_set():
            status, answer = server.ask("POST", "/predict", '{"texts": "not good at all"}')
            if status != 200:
                failures.append((status, answer))
            else:
                met[answer["model"]] = list(answer["predictions"][0]["probabilities"].values())

    def until(condition):
        end = time.monotonic() + 30
        while not condition(server.ask("GET", "/ready")[1]):
            assert time.monotonic() < end
            time.sleep(0.1)

    clients = [threading.Thread(target=keep_asking) for _ in range(2)]
    for client in clients:
        client.start()
    first = server.ask("GET", "/ready")[1]["model"]
    broken = bytearray(bytes_of["two"])
    broken[-100] ^= 1
    for content, said in (
        (broken, "damaged"),
        (b"nonsense", "not a regard model"),
        (broken[: len(broken) // 2], "damaged"),
    ):
        model.write_bytes(content)
        until(lambda ready, said=said: said in (ready["problem"] or ""))
        assert server.ask("GET", "/ready")[1]["model"] == first
    model.unlink()
    until(lambda ready: "There is no model" in (ready["problem"] or ""))
    (tmp_path / "new").write_bytes(bytes_of["two"])
    (tmp_path / "new").replace(model)
    until(lambda ready: ready["model"] != first and ready["problem"] is None)
    time.sleep(0.2)
    stop.set()
    for client in clients:
        client.join()
    code, log = server.stop()

    assert not failures
    assert code == 0
    chances = sorted(each.tolist() for each in wanted.values())
    np.testing.assert_allclose(sorted(met.values()), chances, atol=1e-12)
    events = [line["event"] for line in log if line["event"].startswith("model")]
    assert events[-1] == "model replaced"
    assert events.count("model refused") >= 4  # a file that is written slowly is refused more than once
    assert events.count("model replaced") == 1


def test_a_request_that_has_begun_is_answered_before_the_end(models, tmp_path):
    (tmp_path / "m.regard").write_bytes((models / "one.regard").read_bytes())
    server = Running(tmp_path, "--seconds", 60)
    texts = ["a good place to have lunch, and not too dear " * 80] * 10
    answers = []
    body = json.dumps({"texts": texts})
    client = threading.Thread(target=lambda: answers.append(server.ask("POST", "/explain", body)))
    client.start()
    while b'path="/explain"' not in server.ask("GET", "/metrics")[1] and not answers:
        if b"regard_requests_active 2" in server.ask("GET", "/metrics")[1]:
            break
    code, log = server.stop()
    client.join()

    assert answers[0][0] == 200
    assert len(answers[0][1]["explanations"]) == 10
    assert code == 0
    assert [line["event"] for line in log] == ["listening", *["request"] * (len(log) - 2), "stopped"]
    assert {"time", "level", "event", "method", "path", "status", "ms"} <= set(log[1])
    assert "lunch" not in json.dumps(log)


def test_an_interrupt_is_an_end_like_any_other(models, tmp_path):
    (tmp_path / "m.regard").write_bytes((models / "one.regard").read_bytes())
    server = Running(tmp_path, REGARD_API_KEY="a secret key")

    assert server.ask("GET", "/model")[0] == 401
    assert server.ask("GET", "/model", Authorization="Bearer a secret key")[0] == 200
    code, log = server.stop(signal.SIGINT)
    assert code == 0
    assert "a secret key" not in json.dumps(log)


@pytest.mark.parametrize(
    ("options", "environment", "words"),
    [
        (["nothing.regard"], {}, ["There is no model"]),
        (["m.regard", "--port", "PORT"], {}, ["--port", "free"]),
        (["m.regard", "--host", "256.1.1.1"], {}, ["--host", "free"]),
        (["m.regard"], {"REGARD_API_KEY": ""}, ["REGARD_API_KEY", "8"]),
    ],
    ids=["no model", "no port", "no host", "no key"],
)
def test_a_server_that_cannot_begin_says_why(models, tmp_path, options, environment, words):
    (tmp_path / "m.regard").write_bytes((models / "one.regard").read_bytes())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        run = subprocess.run(
            [sys.executable, "-m", "regard", "serve", *(port if option == "PORT" else option for option in options)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **environment},
        )

    assert run.returncode == 1
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr
    assert all(word in run.stderr for word in words)


def test_without_the_extra_the_command_says_what_to_install(models, tmp_path):
    (tmp_path / "m.regard").write_bytes((models / "one.regard").read_bytes())
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError(\"No module named 'fastapi'\", name='fastapi')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, "-m", "regard", "serve", "m.regard"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": path},
    )

    assert run.returncode == 1
    assert "pip install 'regard[serve]'" in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
