"""Requests a second, slowest requests and memory of the server under eight clients, beside a bare FastAPI echo."""

from __future__ import annotations

import json
import multiprocessing as mp
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from common import imdb, versions, write
from regard import AttentionClassifier

CLIENTS = 8
SECONDS = 60  # of each server
ROUNDS = 4  # in turn, so that both meet the same weather
ECHO = """
from fastapi import FastAPI
from pydantic import BaseModel
import uvicorn

class Asked(BaseModel):
    texts: str | list[str]

app = FastAPI()

@app.post("/predict")
async def echo(asked: Asked) -> Asked:
    return asked

uvicorn.run(app, host="127.0.0.1", port=PORT, http="h11", access_log=False, log_level="error")
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def sentences():
    """One-sentence texts, as requests."""
    (_, _), (texts, _) = imdb()
    found = [s.strip() for text in texts[:400] for s in re.split(r"(?<=[.!?])\s+|<br />", text) if 30 < len(s) < 200]
    requests = []
    for sentence in found[:2000]:
        body = json.dumps({"texts": sentence}).encode()
        head = f"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        requests.append(head.encode() + b"\r\n\r\n" + body)
    return requests


def ask(port, requests, until, times, errors):
    """One client on one connection: ask, read the whole answer, ask again."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        at = 0
        while time.perf_counter() < until:
            began = time.perf_counter()
            connection.sendall(requests[at % len(requests)])
            came = connection.recv(65536)
            while b"\r\n\r\n" not in came:
                came += connection.recv(65536)
            head, _, body = came.partition(b"\r\n\r\n")
            missing = int(re.search(rb"content-length: (\d+)", head)[1]) - len(body)
            while missing > 0:
                missing -= len(connection.recv(65536))
            times.append(time.perf_counter() - began)
            if not came.startswith(b"HTTP/1.1 200"):
                errors.append(came[:100])
            at += 1


def clients(port, requests, seconds, out):
    """All clients of a process of their own, so that they do not share the server's interpreter."""
    until = time.perf_counter() + seconds
    times, errors = [], []
    threads = [
        threading.Thread(target=ask, args=(port, requests[i::CLIENTS], until, times, errors)) for i in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put((times, len(errors)))


def load(port, requests, seconds):
    out = mp.Queue()
    process = mp.Process(target=clients, args=(port, requests, seconds, out))
    process.start()
    result = out.get()
    process.join()
    return result


def memory(process):
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * 4096 / 1e6


def work(process):
    """Seconds of the processors that a process has used, by the scheduler's own clock: ticks would be too coarse."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat")) / 1e9


def wait_for(port):
    for _ in range(600):
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the server did not start")


def main():
    (texts, labels), _ = imdb()
    requests = sentences()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        AttentionClassifier().fit(texts, labels).save(f"{folder}/imdb.regard")
        ports = {"echo": free_port(), "regard": free_port()}
        servers = {
            "echo": subprocess.Popen([sys.executable, "-c", ECHO.replace("PORT", str(ports["echo"]))]),
            "regard": subprocess.Popen(
                [sys.executable, "-m", "regard", "serve", f"{folder}/imdb.regard", "--port", str(ports["regard"])],
                stdout=subprocess.DEVNULL,
                stderr=opened.enter_context(Path(folder, "log").open("w")),
            ),
        }
        try:
            for port in ports.values():
                wait_for(port)
                load(port, requests, 2)
            before = memory(servers["regard"])
            found = {name: ([], 0, 0.0) for name in servers}
            grown = []
            for _ in range(ROUNDS):
                for name, server in servers.items():
                    used = work(server)
                    times, errors = load(ports[name], requests, SECONDS / ROUNDS)
                    all_times, all_errors, all_used = found[name]
                    found[name] = (all_times + times, all_errors + errors, all_used + work(server) - used)
                grown.append(memory(servers["regard"]))
                print({name: len(times) for name, (times, _, _) in found.items()}, grown, flush=True)
        finally:
            for server in servers.values():
                server.terminate()
            codes = [server.wait(30) for server in servers.values()]
    lines = [
        f"{CLIENTS} clients in one process, each on one connection, ask for one sentence of IMDB at a time, in all",
        f"{SECONDS} s of each server in {ROUNDS} turns; IMDB's model of words and pairs; the echo is FastAPI with the",
        "same kind of body and nothing else, on the same HTTP parser, without a log. On the clock, which depends on",
        "what else the machine does, and for each second of the server's own processor time.",
        "",
        "| | requests | errors | a second | a processor second | median, ms | p99, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    rates = {}
    for name, (times, errors, used) in found.items():
        rates[name] = len(times) / SECONDS, len(times) / used
        median, slow = np.percentile(times, [50, 99]) * 1000
        lines.append(
            f"| {name} | {len(times):,} | {errors} | {rates[name][0]:,.0f} | {rates[name][1]:,.0f} | {median:.1f} | "
            f"{slow:.1f} |"
        )
    shares = [ours / theirs for ours, theirs in zip(rates["regard"], rates["echo"], strict=True)]
    lines += [
        "",
        f"The server answers {shares[0]:.2f} times as many requests a second as the echo, and {shares[1]:.2f} times as "
        "many a processor second.",
        f"The machine had {os.cpu_count()} cores and, over five minutes, {os.getloadavg()[1]:.0f} processes that "
        "wanted one.",
        f"Memory of the server: {before:.0f} MB before, then after each turn "
        + ", ".join(f"{size:.0f}" for size in grown)
        + f" MB. It ended with the code {codes[1]}.",
        "",
        versions("regard", "fastapi", "starlette", "pydantic", "uvicorn", "h11"),
    ]
    write("serve", "The server under load", "python benchmarks/serve.py", lines)


if __name__ == "__main__":
    sys.exit(main())
