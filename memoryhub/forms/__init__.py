"""Forms by noun. They check the shape of values; the domain checks their meaning."""

from .agents import AgentForm, NewAgentForm, PromptSettingsForm, TokenForm
from .base import HubForm
from .files import MountForm, MountSettingsForm, RuleForm
from .people import EmailForm, PasswordForm, PersonForm, RoleForm
from .retrieval import ChunksForm, RetrievalForm
from .spaces import LimitsForm, RenameForm, SettingsForm, SpaceForm, WebhookForm
