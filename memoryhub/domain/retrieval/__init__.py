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
from memoryhub.domain.retrieval.index import SearchOptions, readers_for
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
from memoryhub.domain.retrieval.snippets import marked_pieces, snippet
from memoryhub.domain.retrieval.vector_index import add_to_vector_index, drop_vector_index, nearest_by_index
from memoryhub.domain.retrieval.word_rank import (
    CONFIGURATIONS,
    TSVECTOR,
    Candidate,
    split_at_threshold,
    split_words,
    words_by_configuration,
)
