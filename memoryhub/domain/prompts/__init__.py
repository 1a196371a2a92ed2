"""Agents, their sources and templates, and the exact prompt that each of them gets."""

from memoryhub.domain.prompts.agents import (
    agent_by_name,
    agent_by_slug,
    agents_of_space,
    change_agent,
    create_agent,
    delete_agent,
)
from memoryhub.domain.prompts.agents_behind import (
    agent_row,
    agent_rows,
    listed_sources,
    rows_with_tokens,
    threads_behind,
)
from memoryhub.domain.prompts.assemble import (
    Prompt,
    PromptRequest,
    as_json,
    assemble,
    change_settings,
    parse_time,
    pending_numbers,
    with_findings,
    with_pending,
)
from memoryhub.domain.prompts.compare import (
    MomentComparison,
    PromptChange,
    compare_moments,
)
from memoryhub.domain.prompts.deliveries import delivered_at, delivered_text, deliveries_of, record_delivery, threads_of
from memoryhub.domain.prompts.framework_templates import (
    chosen_template,
    import_installed_template,
    import_template_wheel,
    report_template,
    templates_for,
)
from memoryhub.domain.prompts.origins import LineOrigin, line_origin
from memoryhub.domain.prompts.serve import prompt_for, working_column
from memoryhub.domain.prompts.sources import (
    add_source,
    check_sources,
    get_source,
    is_source,
    remove_source,
    reorder_source,
    sources_of,
    switch_source,
    take_over_sources,
)

__all__ = [
    "LineOrigin",
    "MomentComparison",
    "Prompt",
    "PromptChange",
    "PromptRequest",
    "add_source",
    "agent_by_name",
    "agent_by_slug",
    "agent_row",
    "agent_rows",
    "agents_of_space",
    "as_json",
    "assemble",
    "change_agent",
    "change_settings",
    "check_sources",
    "chosen_template",
    "compare_moments",
    "create_agent",
    "delete_agent",
    "delivered_at",
    "delivered_text",
    "deliveries_of",
    "get_source",
    "import_installed_template",
    "import_template_wheel",
    "is_source",
    "line_origin",
    "listed_sources",
    "parse_time",
    "pending_numbers",
    "prompt_for",
    "record_delivery",
    "remove_source",
    "reorder_source",
    "report_template",
    "rows_with_tokens",
    "sources_of",
    "switch_source",
    "take_over_sources",
    "templates_for",
    "threads_behind",
    "threads_of",
    "with_findings",
    "with_pending",
    "working_column",
]
