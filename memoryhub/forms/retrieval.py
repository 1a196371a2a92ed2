"""Retrieval: limits, and the chunks of long-term memory."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from .base import HubForm


class RetrievalForm(HubForm):
    """Limits of retrieval; what is left empty is as the space, or as the hub has it."""

    hot = forms.IntegerField(
        label=_("Recent entries"),
        required=False,
        min_value=0,
        max_value=50,
        help_text=_("The newest of working memory."),
    )
    cold = forms.IntegerField(
        label=_("Long-term chunks"), required=False, min_value=0, max_value=50, help_text=_("The best matches.")
    )
    max_chars = forms.IntegerField(
        label=_("Characters of each"),
        required=False,
        min_value=1,
        max_value=1 << 20,
        help_text=_("Longer texts are cut."),
    )
    threshold = forms.FloatField(
        label=_("Similarity threshold"), required=False, min_value=-1, max_value=1,
        help_text=_("The lowest cosine that is given out. Empty: the embedder's own, below which equal words count too."),
    )  # fmt: skip
    words = forms.IntegerField(
        label=_("Words in the order, in %"), required=False, min_value=0, max_value=100,
        help_text=_("The rest is likeness of meaning."),
    )  # fmt: skip

    def __init__(self, *args: Any, inherited: Any = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            value = getattr(inherited, name, None)
            if value is not None:
                field.widget.attrs["placeholder"] = round(value * 100) if name == "words" else value

    @property
    def values(self) -> dict[str, Any]:
        """What was given, as the domain has it."""
        given = {name: value for name, value in self.cleaned_data.items() if value is not None}
        return given | ({"words": given["words"] / 100} if "words" in given else {})


class ChunksForm(HubForm):
    size = forms.IntegerField(label=_("Characters of a chunk"), help_text=_("100 to 4,000."))
    overlap = forms.IntegerField(label=_("Shared with the next"), help_text=_("Up to half of a chunk."))
