"""Pieces of SQL that several statements share.

Each finds its row by the unique index alone. While the database has never counted the tables, an equality may be planned as
a walk over all files of a space or the whole history of a file; a range of one, in order, is what only that index gives.
`path`, `space`, `thread` and `file` are SQL: a column or a placeholder.
"""

from __future__ import annotations


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
