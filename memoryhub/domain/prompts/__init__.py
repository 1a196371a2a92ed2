"""Agents, their sources and templates, and the exact prompt that each of them gets."""

from memoryhub.domain.prompts.agents import (
    TEXTS_IN_PROMPT,
    agent_by_name,
    agent_by_slug,
    agents_of_space,
    change_agent,
    connect_agent,
    create_agent,
    delete_agent,
    listed_agents,
    names_of_agents,
)
from memoryhub.domain.prompts.agents_behind import (
    LAYER_NAMES,
    AgentRow,
    agent_row,
    agent_rows,
    agents_called_last,
    rows_with_tokens,
    thread_statuses,
    threads_behind,
)
from memoryhub.domain.prompts.assemble import (
    Prompt,
    as_json,
    assemble,
    assemble_request,
    change_settings,
    pending_numbers,
    with_pending,
)
from memoryhub.domain.prompts.deliveries import delivered_at, delivered_text, deliveries_of, record_delivery, threads_of
from memoryhub.domain.prompts.explain.admission import Admission, if_admitted
from memoryhub.domain.prompts.explain.compare import (
    MomentComparison,
    PromptChange,
    compare_moments,
)
from memoryhub.domain.prompts.explain.live_threads import count_live_threads, last_calls
from memoryhub.domain.prompts.explain.moments import Moment, moments_of
from memoryhub.domain.prompts.explain.new_agent import prompt_of_new_agent
from memoryhub.domain.prompts.explain.origins import LineOrigin, line_origin
from memoryhub.domain.prompts.explain.sizes import SizeOfDay, prompt_sizes
from memoryhub.domain.prompts.framework_templates import (
    Report,
    chosen_template,
    decide_template,
    import_installed_template,
    import_template_wheel,
    read_report,
    take_back_template,
    take_published,
    template_in_use_again,
    template_with_sha256,
    templates_for,
)
from memoryhub.domain.prompts.requests import NO_LIMITS, AskedLimits, LastCall, PromptRequest, dialect_of, parse_time
from memoryhub.domain.prompts.serve import note_served, prompt_for, stale_prompt, working_column
from memoryhub.domain.prompts.sources import (
    Configuration,
    add_source,
    check_sources,
    choose_sources,
    get_source,
    is_source,
    listed_sources,
    read_configuration,
    remove_source,
    reorder_source,
    sources_of,
    switch_source,
    take_over_configuration,
)
from memoryhub.domain.prompts.template_download import (
    DOWNLOAD_JOB,
    download_template,
    start_download,
    start_missing_download,
    version_to_take,
)
