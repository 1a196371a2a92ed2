"""Any server that answers `POST …/embeddings` in OpenAI's shape: hosted services, vLLM, Ollama."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from memoryhub.embedders import MAX_DIMENSIONS, EmbedderTimeout, EmbedderUnavailable, unit
from memoryhub.errors import Invalid

BATCH = 64
MAX_TRIES = 3
MAX_ANSWER = 16 << 20  # bytes; 64 vectors of the longest kind take a third of it
PAUSE = 0.25  # before the second try; doubled before the third
RETRY_STATUSES = {408, 409, 425, 429, 500, 502, 503, 504}
DEFAULT_MODEL = "text-embedding-3-small"


class OpenAIEndpoint:
    name = "openai_endpoint"
    is_local = False
    threshold = 0.4

    def __init__(self, url: str, key: str, model: str) -> None:
        self.url = url if url.rstrip("/").endswith("/embeddings") else url.rstrip("/") + "/embeddings"
        parts = urlsplit(self.url)  # without user, password and query, for sentences
        self.shown_url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self.model = model
        self.embedded_by = f"openai_endpoint/{model}".lower()
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(headers={**self._headers, "Accept-Encoding": "identity"})
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        if not texts:
            return np.zeros((0, self._dimensions or 0), dtype=np.float32)
        until = time.monotonic() + seconds
        batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        return unit(np.concatenate([self._batch(batch, until) for batch in batches]))

    def _batch(self, texts: Sequence[str], until: float) -> np.ndarray:
        body = {"model": self.model, "input": [text or " " for text in texts], "encoding_format": "float"}
        for attempt in range(MAX_TRIES):
            left = until - time.monotonic()
            if left <= 0:
                break
            answer = self._post(body, left)
            if answer is not None:
                return self._vectors(answer, len(texts))
            time.sleep(max(0.0, min(PAUSE * 2**attempt, until - time.monotonic())))
        raise EmbedderTimeout(
            f"The embedder at {self.shown_url} does not answer; nothing was changed, try again later."
        )

    def _post(self, body: dict[str, Any], seconds: float) -> Any:
        """The parsed answer, or None for a failure that may pass."""
        until = time.monotonic() + seconds
        try:
            with self._client.stream("POST", self.url, json=body, timeout=seconds) as answer:
                content = self._read_body(answer, until)
        except httpx.HTTPError:
            return None
        if answer.status_code in RETRY_STATUSES:
            return None
        if answer.status_code != 200:
            raise EmbedderUnavailable(
                f"The embedder at {self.shown_url} answers {answer.status_code}; check its address, model and key."
            )
        try:
            return json.loads(content)
        except ValueError:
            raise self._malformed("is not JSON") from None

    def _read_body(self, answer: httpx.Response, until: float) -> bytes:
        """The body as it comes, up to a limit and if it comes in time: httpx limits each read alone, and a byte a second fits
        into that for ever. What is compressed, unasked, is not JSON."""
        parts, size = [], 0
        for part in answer.iter_raw():
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER:
                raise self._malformed(f"is larger than {MAX_ANSWER >> 20} MiB")
            if time.monotonic() > until:
                raise httpx.ReadTimeout(f"{self.shown_url} answers too slowly")
        return b"".join(parts)

    def _vectors(self, answer: Any, expected: int) -> np.ndarray:
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (KeyError, TypeError, ValueError):
            raise self._malformed("is not a list of embeddings") from None
        if vectors.ndim != 2 or vectors.shape[0] != expected or not np.isfinite(vectors).all():
            raise self._malformed(f"does not hold {expected} vectors of one length")
        self._check_dimensions(vectors.shape[1])
        return vectors

    def _check_dimensions(self, found: int) -> None:
        if not 0 < found <= MAX_DIMENSIONS:
            raise self._malformed(f"has {found} dimensions; 1 to {MAX_DIMENSIONS} can be stored")
        self._dimensions = found  # `domain.meaning` compares them with what is stored

    def _malformed(self, what: str) -> EmbedderUnavailable:
        return EmbedderUnavailable(f"The answer of the embedder at {self.shown_url} {what}.")


def make(model: str, environ: Mapping[str, str]) -> OpenAIEndpoint:
    url = environ.get("MEMORYHUB_EMBEDDER_URL", "")
    if not url.startswith(("http://", "https://")):
        raise Invalid(
            "MEMORYHUB_EMBEDDER_URL must be the address of the endpoint, such as http://127.0.0.1:11434/v1.",
            code="unknown_embedder",
        )
    return OpenAIEndpoint(url, environ.get("MEMORYHUB_EMBEDDER_KEY", ""), model or DEFAULT_MODEL)
