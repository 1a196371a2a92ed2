"""WordLlama: small word vectors whose weights lie inside the wheel, so nothing is ever downloaded.

Good for English and the large European languages; weak for Arabic, Chinese, Japanese and Korean, where the words of a
text carry the ranking instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from memoryhub.embedders import unit
from memoryhub.errors import Invalid


class WordLlama:
    name = "wordllama"
    is_local = True
    embedded_by = "wordllama/l2_supercat_256"
    dimensions = 256
    threshold = 0.3  # measured: texts on one subject lie at .37 to .65, on different ones below .1

    @cached_property
    def _model(self) -> Any:
        import wordllama

        # Without these two arguments the library looks for a tokenizer on the network.
        return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)

    def embed(self, texts: Sequence[str], *, seconds: float = 30.0) -> np.ndarray:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return unit(self._model.embed(list(texts), norm=False))


def make(model: str, environ: Mapping[str, str]) -> WordLlama:
    if model:
        raise Invalid(
            "The embedder wordllama has one model; leave out what follows the colon.", code="unknown_embedder"
        )
    return WordLlama()
