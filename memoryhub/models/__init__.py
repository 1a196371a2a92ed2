"""The models. Large tables have plain ids instead of foreign keys, so that they can be partitioned by space."""

from .activity import ActivityLine
from .agents import Agent, Scope, Token
from .base import DISK, HUB, Actor, ByActor, Scoped, move_row
from .erasures import Erasure
from .files import AllowedValue, Editing, File, Mount, OnDisk, Policy, PolicyRule, Revision, Source, SourceChange
from .jobs import Job, Made
from .layers import EntryPair, EntryRevision, LongtermEntry, Record, RecordState, WorkingEntry, WorkingRevision
from .nodes import Node, SharedKey
from .people import FailedTry, Person, SignIn, SignInLink
from .prompts import AgentChange, Delivery, DialectTemplate, PromptText, TemplateChoice
from .proposals import Proposal, ProposalComment, Webhook, WebhookNotice
from .retrieval import Chunk, ChunkCount, Embedding, FileWords, LexemeCount, Posting, SavedQuery, Telltale
from .spaces import SETTINGS, Membership, Role, Settings, Space
