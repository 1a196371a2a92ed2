"""Long-term memory: entries, their chunks and vectors, promotion, conflicts, import and export."""

from memoryhub.domain.longterm.bulk_import import (
    drop_imports_with_session,
    get_import,
    import_entries,
    imports_with_session,
    unfinished_import,
)
from memoryhub.domain.longterm.changes import (
    edit,
    erase_words,
    pin,
    pinned,
    restore,
    retire,
    set_review_by,
    take_back,
    unpin,
    verify,
)
from memoryhub.domain.longterm.chunks import chunk_size, cut_text, remove_chunks
from memoryhub.domain.longterm.conflicts import (
    CONTRADICTION,
    DUPLICATE,
    KEEP_BOTH,
    conflicts_with_entries,
    contradictions_of,
    forget_conflicts,
    open_conflicts,
)
from memoryhub.domain.longterm.entries import (
    AGENT,
    GROUP,
    LIVE,
    RETIRED,
    WAITING,
    ListedEntry,
    by_label,
    counts_by_filter,
    due,
    entries_of,
    get,
    history,
    newest,
    title_of_entry,
)
from memoryhub.domain.longterm.entry_files import check_import, export_entries
from memoryhub.domain.longterm.indexing import RECUT, change_chunks, recut
from memoryhub.domain.longterm.map import Map, Point, draw_map
from memoryhub.domain.longterm.promote import (
    PromotionOrigin,
    PromotionPreview,
    preview_promotion,
    promote,
    promote_record,
    promotion_origin,
    requested_promotions,
)
from memoryhub.domain.longterm.reembed import (
    REEMBEDDING_JOB,
    drop_all_vectors,
    drop_vectors,
    drop_vectors_of,
    embedder_before,
    embedders_with_vectors,
    fill_vectors,
    prepare_reembedding,
    reembedding_state,
    run_reembedding,
    start_reembedding,
    switch_embedder_back,
    vector_counts,
)
from memoryhub.domain.longterm.store import absorb, store
from memoryhub.domain.longterm.verdicts import settle, unsettle
