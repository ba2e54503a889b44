"""What every request passes: the key, the limits, the clock, the log. Nothing is parsed before it is let in."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from regard.serve.bodies import as_json
from regard.serve.limits import Limits
from regard.serve.logs import log, log_request
from regard.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]
Counts = dict[str, int]

POSTS = ("/predict", "/explain")
PATHS = (*POSTS, "/", "/model", "/health", "/ready", "/metrics", "/openapi.json")
OPEN = ("/health", "/ready")  # a load balancer has no key
_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
BROKEN = "Something went wrong in the server; its log says what: try another request."
_GONE = 499  # what others, too, write into logs where the client has left


class Refused(Exception):  # noqa: N818 - the client's error, not ours
    """An answer that is given before the request reaches the application."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        self.status = status
        self.detail = detail
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Gate:
    """An ASGI application around another.

    Parameters
    ----------
    app
        The other.
    limits, metrics
        What is let in, and what is counted.
    quick
        What answers a body of ``/predict`` in microseconds, or None where that takes the application: a framework needs
        longer for a request than a table for a sentence.
    key
        What clients must send as ``Authorization: Bearer KEY``, if anything.
    """

    def __init__(
        self,
        app: App,
        limits: Limits,
        metrics: Metrics,
        key: str | None,
        quick: Callable[[bytes], tuple[bytes, Counts] | None],
    ) -> None:
        self.app = app
        self._quick = quick
        self._limits = limits
        self._metrics = metrics
        self._key = None if key is None else b"Bearer " + key.encode()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        answer = _Answer(send, _has_body(scope))
        self._metrics.active += 1
        try:
            await self._answered(scope, receive, answer)
        finally:
            self._metrics.active -= 1
            seconds = time.perf_counter() - began
            path = scope["path"] if scope["path"] in PATHS else "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.answered(path, answer.status, seconds)
            log_request(method, path, answer.status, seconds, scope.get("regard", {}))

    async def _answered(self, scope: Message, receive: Receive, answer: _Answer) -> None:
        try:
            self._check(scope)
            async with asyncio.timeout(self._limits.seconds):
                if scope["path"] in POSTS and scope["method"] == "POST":
                    body = await self._whole_body(receive, answer)
                    # What a page of another origin may read, the application says.
                    if scope["path"] == "/predict" and all(name != b"origin" for name, _ in scope["headers"]):
                        found = self._quick(body)
                        if found is not None:
                            scope["regard"] = found[1]
                            await answer.whole(200, found[0])
                            return
                    receive = _handing_on(body, receive)
                await self.app(scope, receive, answer.send)
        except Refused as refused:
            await answer.refuse(refused, receive)
        except TimeoutError:
            await answer.refuse(self._too_late(answer), receive)
        except _LeftError:
            answer.status = _GONE
        except Exception:  # noqa: BLE001 - the last line: the client gets a sentence, and the log the traceback
            log("error", logging.ERROR, traceback=True)
            await answer.refuse(Refused(500, BROKEN), receive)

    def _check(self, scope: Message) -> None:
        """What can be said from the head."""
        headers = dict(scope["headers"])
        # Browsers ask without a key whether they may ask with one.
        if self._key is not None and scope["path"] not in OPEN and scope["method"] != "OPTIONS":
            sent = headers.get(b"authorization", b"")
            if not hmac.compare_digest(sent, self._key):
                raise Refused(
                    401,
                    "A key must come as the header `Authorization: Bearer KEY`; "
                    + ("another came." if sent else "none came."),
                    www_authenticate="Bearer",
                )
        if self._metrics.active > self._limits.requests and scope["path"] not in OPEN:
            raise Refused(
                503,
                f"Up to {self._limits.requests:,} requests are answered at a time, and there are more: try again.",
                retry_after="1",
            )
        if scope["path"] not in POSTS or scope["method"] != "POST":
            return
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._limits.body:
            raise self._too_large()
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            raise Refused(415, "The body must be JSON: send it with the header `Content-Type: application/json`.")

    def _too_late(self, answer: _Answer) -> Refused:
        within = f"within {self._limits.seconds:g} seconds"
        if answer.unread:
            return Refused(408, f"A body must arrive {within}, and less came: send it again.")
        return Refused(503, f"The answer was not ready {within}: send less at a time, or try again.", retry_after="1")

    def _too_large(self) -> Refused:
        return Refused(413, f"A body must have at most {self._limits.body:,} bytes: send the texts in several calls.")

    async def _whole_body(self, receive: Receive, answer: _Answer) -> bytes:
        """Read it, within the limits."""
        pieces, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _LeftError
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            if size > self._limits.body:
                raise self._too_large()
            pieces.append(piece)
        answer.unread = False
        return b"".join(pieces)


def _handing_on(body: bytes, receive: Receive) -> Receive:
    """What the application reads a body from that has been read before."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def handed_on() -> Message:
        return whole.pop() if whole else await receive()

    return handed_on


class _LeftError(Exception):
    """The client has gone."""


class _Answer:
    """What is sent, and whether it has begun.

    A connection whose body has not been read to its end is closed: what follows on it would be the rest of the body.
    """

    def __init__(self, send: Send, unread: bool) -> None:
        self.status = 0
        self.unread = unread
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.unread:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await self._send(message)

    async def refuse(self, refused: Refused, receive: Receive) -> None:
        if self.status:
            return  # half an answer is out; the server closes the connection
        if self.unread and refused.status != 408:
            await _drain(receive)
        await self.whole(refused.status, as_json({"detail": refused.detail}), refused.headers)

    async def whole(self, status: int, body: bytes, more: dict[str, str] | None = None) -> None:
        """Send JSON."""
        headers = {"content-type": "application/json", "content-length": str(len(body)), **(more or {})}
        await self.send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            }
        )
        await self.send({"type": "http.response.body", "body": body})


async def _drain(receive: Receive) -> None:
    """Let a client finish, within reason: one that is cut off while it sends does not read the answer."""
    size = 0
    try:
        async with asyncio.timeout(1):
            while size < 1 << 26:
                message = await receive()
                size += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _has_body(scope: Message) -> bool:
    headers = dict(scope["headers"])
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
