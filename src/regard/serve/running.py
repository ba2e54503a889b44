"""From a file to a server that listens, and stops when it is told to."""

from __future__ import annotations

import gc
import math
import signal
import socket
import threading
from asyncio import TimerHandle, Transport
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from regard.errors import SettingError
from regard.serve.app import application
from regard.serve.limits import Limits
from regard.serve.logs import begin, log


def serve(
    path: Path,
    host: str,
    port: int,
    limits: Limits,
    *,
    key: str | None = None,
    cors: Sequence[str] = (),
    threads: int | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve a model until SIGINT or SIGTERM; requests that have begun are answered before the end.

    Parameters
    ----------
    path, limits, key, cors, threads
        See ``application``.
    host, port
        Where to listen; port 0 is any that is free.
    ready
        Is called with the address as soon as clients can connect.
    """
    with _listening(host, port) as listener:
        app = application(path, limits, key=key, cors=cors, threads=threads)
        begin()
        # What is there now stays: the collector need not go through all of it again and again while it answers.
        gc.collect()
        gc.freeze()
        config = uvicorn.Config(
            app,
            http=_protocol(limits),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=math.ceil(limits.seconds),
            timeout_graceful_shutdown=math.ceil(limits.seconds) + 1,
        )
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}"
        log("listening", address=address, key=key is not None)
        ready(address)
        _Server(config).run(sockets=[listener])
    log("stopped")


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or error
        raise SettingError(
            f"`--host` and `--port` must be free to listen on; {host}:{port} is not ({what}): name others."
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Ends on a signal as a program that has done its work."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn would send itself the signal once more at the end."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _protocol(limits: Limits) -> type[H11Protocol]:
    """HTTP by h11, which bounds the size of a head; here its time is bounded too, and the number of connections."""

    class Patient(H11Protocol):
        _waiting: TimerHandle | None = None

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.connections:
                transport.abort()
            else:
                self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait()
            else:
                self._have_waited()

        def connection_lost(self, exc: Exception | None) -> None:
            self._have_waited()
            super().connection_lost(exc)

        def _wait(self) -> None:
            if self._waiting is None and not self.transport.is_closing():
                self._waiting = self.loop.call_later(limits.seconds, self._give_up)

        def _have_waited(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _give_up(self) -> None:
            self._waiting = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Patient
