"""Where files live, one module per place. Plain data in, plain data out."""

from __future__ import annotations

from memoryhub.stores.database import DatabaseStore
from memoryhub.stores.elsewhere import ElsewhereStore
from memoryhub.stores.filesystem import FilesystemStore
from memoryhub.stores.thread import ThreadStore
from memoryhub.stores.views import ViewStore

Store = FilesystemStore | ElsewhereStore | DatabaseStore | ThreadStore | ViewStore
