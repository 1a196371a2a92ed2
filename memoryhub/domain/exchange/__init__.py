"""Import from elsewhere, export, the client's wheel, Anthropic's memory tool, and the disks of a backup."""

from memoryhub.domain.exchange.backups import (
    give_back_the_disk,
    mounted_directories,
    move_mounts,
    note_backup,
    note_restore,
    take_in_the_disk,
)
from memoryhub.domain.exchange.client_wheel import CLIENT_EXTRAS, CLIENT_NAME, client_wheel
from memoryhub.domain.exchange.exporting import export
from memoryhub.domain.exchange.import_formats import IMPORT_FORMATS, Folder
from memoryhub.domain.exchange.imports import MAX_IMPORT_BYTES, PREVIEW_JOB, get_import, preview_import, start_import
from memoryhub.domain.exchange.memory_tool import MEMORY_TOOL_COMMANDS, MEMORY_TOOL_READS, run_memory_tool
from memoryhub.domain.exchange.stored_secrets import mark_stored_secrets
