"""What search reads: chunks of long-term entries with their words and vectors, words of files, saved queries."""

from __future__ import annotations

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.utils import timezone
from pgvector.django import HalfVectorField

from .base import Scoped
from .spaces import Space


class Chunk(models.Model):
    """A piece of a live entry: 500 characters at most unless its space has another size. Its vectors are in `Embedding`."""

    space_id = models.BigIntegerField()
    entry_id = models.BigIntegerField()
    scope = models.CharField(max_length=5, default="group")
    agent_id = models.BigIntegerField(null=True)
    position = models.IntegerField()
    start = models.IntegerField()  # character offsets into the entry's content
    end = models.IntegerField()
    text = models.TextField()
    words = SearchVectorField(null=True)
    length = models.IntegerField(default=0)  # lexemes, for BM25

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["space_id", "entry_id", "position"], name="chunk_entry"),
        ]


class Embedding(models.Model):
    """A chunk's vector under one embedder: narrow rows, clustered by space."""

    space_id = models.BigIntegerField()
    chunk_id = models.BigIntegerField()
    embedded_by = models.CharField(max_length=100)
    agent_id = models.BigIntegerField(null=True)  # of chunks in one agent's scope
    vector = HalfVectorField()
    in_index = models.BooleanField(
        default=False, db_default=False
    )  # true for vectors of large spaces, set later (`vector_index`)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space_id", "embedded_by", "chunk_id"], name="one_vector_per_embedder")
        ]
        indexes = [
            models.Index(
                fields=["space_id", "embedded_by"], condition=models.Q(in_index=False), name="embedding_outside"
            )
        ]


class Posting(models.Model):
    """How often a lexeme occurs in a chunk; BM25 reads it from the index alone, of a common lexeme the best alone.

    Of what is equal in all before it, the shortest chunk is the best (`in_memory.postings`).
    """

    space_id = models.BigIntegerField()
    lexeme = models.TextField()
    chunk_id = models.BigIntegerField()
    agent_id = models.BigIntegerField(null=True)  # of chunks in one agent's scope
    count = models.IntegerField()
    length = models.IntegerField()  # lexemes of the chunk

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["space_id", "lexeme", "agent_id", "count", "length", "chunk_id"], name="posting_best")
        ]


class LexemeCount(models.Model):
    """The number of a space's chunks in which a lexeme occurs, which gives its weight. `mark` gets a new value at each change."""

    space_id = models.BigIntegerField()
    lexeme = models.TextField()
    chunks = models.BigIntegerField(default=0)
    mark = models.BigIntegerField(default=0)

    objects = Scoped.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space_id", "lexeme"], name="one_lexeme"
            )  # alone, so that counts change in place
        ]


class Telltale(models.Model):
    """A fingerprint of a line of a chunk, to recognise the line in new texts (`detectors.fingerprints`)."""

    space_id = models.BigIntegerField()
    code = models.IntegerField()  # of two of its words
    size = models.SmallIntegerField()  # words of the line
    chunk_id = models.BigIntegerField()
    agent_id = models.BigIntegerField(null=True)  # of chunks in one agent's scope
    mask = models.BigIntegerField()  # all words of the line, a bit each

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["space_id", "code", "size", "chunk_id"], include=["agent_id", "mask"], name="telltale_word"
            )
        ]


class ChunkCount(models.Model):
    """The number of chunks of a space and of lexemes in them, updated with the chunks."""

    space_id = models.BigIntegerField(unique=True)
    chunks = models.BigIntegerField(default=0)
    lexemes = models.BigIntegerField(default=0)

    objects = Scoped.as_manager()


class FileWords(models.Model):
    """The words of a file's newest revision, for search; updated when somebody searches."""

    space_id = models.BigIntegerField()
    file_id = models.BigIntegerField(unique=True)
    revision = models.BigIntegerField()
    words = SearchVectorField(null=True)

    objects = Scoped.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["space_id", "file_id"], name="file_words_of"),
            GinIndex(fields=["words"], name="file_words"),
        ]


class SavedQuery(models.Model):
    """A query with the answer it should find: a check that runs after each change of embedder."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="saved_queries")
    query = models.CharField(max_length=1000)
    expects = models.JSONField(default=list)  # entry numbers
    last_result = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    objects = Scoped.as_manager()
