"""What memory gives to a question, and search over every layer."""

from memoryhub.domain.retrieval import views
from memoryhub.domain.retrieval.checks import checks_of, forget_check, run_checks, save_check
from memoryhub.domain.retrieval.copies import group_hits, join_copies
from memoryhub.domain.retrieval.embedder import (
    EMBEDDER_SECONDS,
    duplicate_threshold,
    embedder_choice,
    embedder_of,
    load_embedder,
    query_vector,
    reads,
    related_threshold,
    serving_embedder,
)
from memoryhub.domain.retrieval.index import Wanted, readers_for
from memoryhub.domain.retrieval.limits import (
    MAX_ITEMS,
    Limits,
    change_limits,
    check_limits,
    limits_of,
    limits_then,
)
from memoryhub.domain.retrieval.query_words import records_with
from memoryhub.domain.retrieval.rank import rank, rank_texts
from memoryhub.domain.retrieval.retrieve import Item, as_text, retrieve
from memoryhub.domain.retrieval.search import (
    LAYERS,
    MAX_HITS,
    TITLES,
    Hit,
    has_more_activity,
    search,
)
from memoryhub.domain.retrieval.snippets import marked_pieces
from memoryhub.domain.retrieval.vector_index import add_to_vector_index, drop_vector_index, nearest_by_index
from memoryhub.domain.retrieval.word_rank import (
    CONFIGURATIONS,
    TSVECTOR,
    Candidate,
    split_at_threshold,
    split_words,
    words_by_configuration,
)

__all__ = [
    "CONFIGURATIONS",
    "EMBEDDER_SECONDS",
    "LAYERS",
    "MAX_HITS",
    "MAX_ITEMS",
    "TITLES",
    "TSVECTOR",
    "Candidate",
    "Hit",
    "Item",
    "Limits",
    "Wanted",
    "add_to_vector_index",
    "as_text",
    "change_limits",
    "check_limits",
    "checks_of",
    "drop_vector_index",
    "duplicate_threshold",
    "embedder_choice",
    "embedder_of",
    "forget_check",
    "group_hits",
    "has_more_activity",
    "join_copies",
    "limits_of",
    "limits_then",
    "load_embedder",
    "marked_pieces",
    "nearest_by_index",
    "query_vector",
    "rank",
    "rank_texts",
    "readers_for",
    "reads",
    "records_with",
    "related_threshold",
    "retrieve",
    "run_checks",
    "save_check",
    "search",
    "serving_embedder",
    "split_at_threshold",
    "split_words",
    "views",
    "words_by_configuration",
]
