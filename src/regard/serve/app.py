"""The application: which paths there are, and what each answers."""

# Annotations are not postponed here: FastAPI reads them, and the type of what is asked is made with the limits.
import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException

from regard.serve import bodies
from regard.serve.bodies import About, Explanations, Health, Predictions, Ready, Refusal, as_json, what_is_wrong
from regard.serve.gate import BROKEN, OPEN, Gate, Refused
from regard.serve.limits import Limits
from regard.serve.metrics import Metrics
from regard.serve.served import Busy, Current, Jobs
from regard.tokens.threads import thread_count

_SHORT = 4000  # bytes of a body that may be answered at once
_SENTENCES = {
    400: "The body must be JSON, and it could not be read: check its brackets, numbers and encoding.",
    404: "There is nothing here: ask for /predict, /explain, /model, /health, /ready, /metrics or /.",
    405: "This path does not take that method: POST to /predict and /explain, GET the others.",
}
_MET = {
    400: "The body is no JSON.",
    401: "The key is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not said to be JSON.",
    422: "The body is JSON of another form.",
    503: "There is too much to do.",
}


def application(
    path: str | os.PathLike[str],
    limits: Limits | None = None,
    *,
    key: str | None = None,
    cors: Sequence[str] = (),
    threads: int | None = None,
    every: float = 1.0,
) -> Gate:
    """Make an ASGI application that serves a model file.

    Parameters
    ----------
    path
        The file; when it is replaced, so is the model.
    limits
        What a client may ask for at most.
    key
        What clients must send as ``Authorization: Bearer KEY``; anybody may ask, if None.
    cors
        Origins whose pages may ask; none by default.
    threads
        For what takes longer; all cores by default.
    every
        Seconds between two looks at the file.
    """
    limits = Limits() if limits is None else limits
    metrics = Metrics()
    current = Current(Path(path), metrics)
    jobs = Jobs(thread_count(threads), limits.requests)
    pages = Jobs(1, limits.requests)  # one thread, so that a page is made once

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(current.watch(every))
        try:
            yield
        finally:
            watching.cancel()
            jobs.close()
            pages.close()

    app = FastAPI(
        title="regard",
        version=version("regard"),
        description="Predictions of a text classifier, and what it attended to.",
        lifespan=life,
        docs_url=None,  # they would fetch their program from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    Asked = bodies.asked(limits)
    _posts(app, Asked, current, jobs, limits, metrics, guarded=key is not None)
    _gets(app, current, pages, metrics, guarded=key is not None)
    _errors(app, limits)
    if cors:
        app.add_middleware(CORSMiddleware, allow_origins=list(cors), allow_methods=["GET", "POST"], allow_headers=["*"])
    app.openapi_schema = _document(app, guarded=key is not None)

    def quick(body: bytes) -> tuple[bytes, dict[str, int]] | None:
        served = current.served
        if served.table is None or len(body) > _SHORT:
            return None
        try:
            asked: Any = Asked.model_validate_json(body)
        except ValidationError:
            return None  # the application says in a sentence what is wrong with it
        texts = _texts(asked)
        return (served.predict_quickly(texts), _count(texts, metrics)) if served.is_quick(texts) else None

    return Gate(app, limits, metrics, key, quick)


def _texts(asked: Any) -> list[str]:
    return [asked.texts] if isinstance(asked.texts, str) else asked.texts


def _count(texts: list[str], metrics: Metrics) -> dict[str, int]:
    """Count texts; returns what the log says of them."""
    characters = sum(map(len, texts))
    metrics.texts += len(texts)
    metrics.characters += characters
    return {"texts": len(texts), "characters": characters}


def _posts(
    app: FastAPI,
    Asked: type[BaseModel],
    current: Current,
    jobs: Jobs,
    limits: Limits,
    metrics: Metrics,
    *,
    guarded: bool,
) -> None:
    refusals = _refusals(400, 408, 413, 415, 422, 503, guarded=guarded)

    def texts_of(request: Request, asked: Any) -> list[str]:
        texts = _texts(asked)
        request.scope["regard"] = _count(texts, metrics)
        return texts

    @app.post("/predict", response_model=Predictions, responses=refusals)
    async def predict(request: Request, asked: Asked) -> Response:  # type: ignore[valid-type]
        """The label of each text, and how probable each label is."""
        texts, served = texts_of(request, asked), current.served
        if served.is_quick(texts):
            return _json(served.predict_quickly(texts))
        return _json(await jobs.run(served.predict, texts))

    @app.post("/explain", response_model=Explanations, responses=refusals)
    async def explain(request: Request, asked: Asked) -> Response:  # type: ignore[valid-type]
        """Which words and phrases spoke, how loudly, and for which side; the contributions add up to the score."""
        texts, served = texts_of(request, asked), current.served
        if sum(map(len, texts)) > limits.characters:
            raise Refused(
                413,
                f"The texts to explain must have at most {limits.characters:,} characters together: send them in "
                "several calls.",
            )
        return _json(await jobs.run(served.explain, texts))


def _gets(app: FastAPI, current: Current, pages: Jobs, metrics: Metrics, *, guarded: bool) -> None:
    looked = _refusals(503, guarded=guarded)

    @app.get("/model", response_model=About, responses=looked)
    async def model() -> Response:
        """What is served: classes, size, settings and measurements."""
        return _json(current.served.about)

    @app.get("/health", response_model=Health)
    async def health() -> Response:
        """The server answers."""
        return _json(b'{"status":"ok"}')

    @app.get("/ready", response_model=Ready)
    async def ready() -> Response:
        """The server predicts; where the file on disk is no whole model, `problem` says so, and the old one goes on."""
        return _json(as_json({"ready": True, "model": current.served.digest, "problem": current.problem}))

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **looked})
    async def numbers() -> Response:
        """Counters and times, in the text format of Prometheus."""
        return Response(metrics.text(current.served.digest), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", response_class=Response, responses={200: {"content": {"text/html": {}}}, **looked})
    async def page() -> Response:
        """The report of the model, which also predicts."""
        return Response(await pages.run(current.served.page), media_type="text/html; charset=utf-8")


def _errors(app: FastAPI, limits: Limits) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return _refusal(400, _SENTENCES[400])
        return _refusal(422, what_is_wrong(error.body, limits))

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> Response:
        return _refusal(error.status_code, _SENTENCES.get(error.status_code, error.detail), error.headers)

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> Response:
        return _refusal(error.status, error.detail, error.headers)

    @app.exception_handler(Exception)
    async def broken(_: Request, __: Exception) -> Response:
        return _refusal(500, BROKEN)  # Starlette raises it once more, and the gate writes it into the log

    @app.exception_handler(Busy)
    async def busy(_: Request, __: Busy) -> Response:
        return _refusal(503, "There is more to do than can be done in time: try again.", {"retry-after": "1"})


def _document(app: FastAPI, *, guarded: bool) -> dict[str, Any]:
    """The OpenAPI document, which also says where a key is needed."""
    document = app.openapi()
    if guarded:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, methods in document["paths"].items():
            for method in methods.values():
                method["security"] = [] if path in OPEN else [{"key": []}]
    return document


def _refusals(*statuses: int, guarded: bool) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: what may come instead of an answer."""
    listed = (401, *statuses) if guarded else statuses
    return {status: {"model": Refusal, "description": _MET[status]} for status in listed}


def _refusal(status: int, detail: str, headers: Any = None) -> Response:
    return Response(as_json({"detail": detail}), status, headers, "application/json")


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")
