"""WordLlama: small word vectors whose weights lie inside the wheel of `wordllama`, so nothing is downloaded.

The weights are read as data and mapped into memory: processes share them, and of 16 MB only the rows in use are loaded.
Good for English and the large European languages; weak for Arabic, Chinese, Japanese and Korean, where the words of a
text decide the ranking instead.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from memoryhub.embedders import EmbedderUnavailable, unit
from memoryhub.errors import Invalid

_UNREAD = re.compile(
    "[\u0590-\u10ff\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
NOT_INSTALLED = "The weights of wordllama are not installed on this machine. Choose hashing or openai_endpoint."
BATCH = 64  # texts that are padded to one length


class WordLlama:
    name = "wordllama"
    is_local = True
    embedded_by = "wordllama/l2_supercat_256"
    dimensions = 256
    threshold = 0.3  # measured: texts on one subject lie at .37 to .65, on different ones below .1

    def reads(self, text: str) -> bool:
        """Whether most letters of a text are of scripts that the model was made for: no Arabic, Hebrew, Indic, East Asian ones."""
        return 2 * len(_UNREAD.findall(text)) <= sum(map(str.isalpha, text))

    @cached_property
    def _weights(self) -> np.ndarray:
        return read_tensor(_files() / "weights/l2_supercat_256.safetensors", "embedding.weight")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(_files() / "tokenizers/l2_supercat_tokenizer_config.json"))
        tokenizer.enable_padding()
        tokenizer.no_truncation()
        return tokenizer

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        batches = [self._means(list(texts[start : start + BATCH])) for start in range(0, len(texts), BATCH)]
        return unit(np.concatenate(batches))

    def _means(self, texts: list[str]) -> np.ndarray:
        """For each text the mean of the vectors of its tokens; of a text without tokens, zeros."""
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        ids = np.clip([one.ids for one in encoded], 0, len(self._weights) - 1)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.float32)
        vectors = self._weights[ids].astype(np.float32) * mask[..., np.newaxis]
        return vectors.sum(axis=1, dtype=np.float32) / np.maximum(mask.sum(axis=1, keepdims=True), 1.0)


def _files() -> Path:
    """The folder of the installed package; importing it would load far more than its data."""
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None:
        raise EmbedderUnavailable(NOT_INSTALLED)
    return Path(found.origin).parent


def read_tensor(file: Path, name: str) -> np.ndarray:
    """A tensor of 16-bit floats in a safetensors file, mapped into memory: a length, a JSON header, then the numbers."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        about = json.loads(opened.read(length))[name]
    if about["dtype"] != "F16":
        raise Invalid(f"{file.name} holds {about['dtype']}, not 16-bit floats.", code="unknown_embedder")
    start = 8 + length + about["data_offsets"][0]
    return np.memmap(file, dtype="<f2", mode="r", offset=start, shape=tuple(about["shape"]))


def make(model: str, environ: Mapping[str, str]) -> WordLlama:
    if model:
        raise Invalid(
            "The embedder wordllama has one model; leave out what follows the colon.", code="unknown_embedder"
        )
    return WordLlama()
