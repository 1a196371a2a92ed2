"""SQL that several statements share. `path`, `space`, `thread` and `file` are SQL: a column or a placeholder.

Each finds its row by the unique index alone. Before the first ANALYZE, PostgreSQL may plan an equality as a scan of all files
of a space or of all revisions of a file. An ordered range with equal ends can only use that index.
"""

from __future__ import annotations

# What a mount of a directory takes in, as `Mount.selection` has it; empty for other stores.
SELECTION = (
    "CASE WHEN store = 'filesystem' THEN concat_ws(E'\\x1f', takes, include, exclude, CASE WHEN is_full THEN 'full' ELSE '' END) "
    "ELSE '' END AS selection"
)

# Another number after each start of the server. A server that took over may have lost rows whose ids, taken from sequences
# that went back as well, stand for others from then on: what is cached by ids alone is cached by this too.
INCARNATION = "(date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint"


def mount_of(path: str, space: str, columns: str = "*") -> str:
    """The mount with the longest prefix of a path."""
    return (
        f"SELECT {columns} FROM memoryhub_mount WHERE space_id = {space} AND starts_with({path}, prefix) "
        "ORDER BY length(prefix) DESC LIMIT 1"
    )


def file_at(path: str, space: str, thread: str, columns: str = "*") -> str:
    """The file at a path."""
    return (
        f"SELECT {columns} FROM memoryhub_file WHERE space_id = {space} AND path ~>=~ {path} AND path ~<=~ {path} "
        f"AND thread_id = {thread} ORDER BY path USING ~<~ LIMIT 1"
    )


def newest_text_of(file: str, space: str, columns: str = "content", only: str = "true") -> str:
    """The newest revision of a file, given as the alias of its row, where a condition holds."""
    return (
        f"SELECT {columns} FROM memoryhub_revision WHERE space_id = {space} AND file_id = {file}.id "
        f"AND number BETWEEN {file}.revision AND {file}.revision AND {only} ORDER BY number LIMIT 1"
    )
