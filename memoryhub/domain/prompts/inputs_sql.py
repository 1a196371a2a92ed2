"""The statements that read what a prompt is made of; `inputs` sends them and makes values of their rows."""

from __future__ import annotations

from memoryhub.db import fragments
from memoryhub.domain import working
from memoryhub.domain.prompts import framework_templates
from memoryhub.domain.prompts.disk import MARK

# A row a source. The first row is the guidelines (none for most dialects) and carries the agent's own columns; the positioning
# comes next where the dialect has one.
INPUTS = """
WITH listed AS (
  SELECT 0 AS n, 0 AS position, 0::bigint AS id, %(guidelines)s::text AS path, '' AS printed
  UNION ALL
  SELECT 0, 1, 0, %(positioning)s::text, '' WHERE %(positioning)s::text IS NOT NULL
  UNION ALL
  SELECT 1, position, id, path, printed FROM memoryhub_source
   WHERE space_id = %(space)s AND agent_id = %(agent)s AND is_on
  UNION ALL
  SELECT 1, position, id, path, printed FROM memoryhub_source
   WHERE space_id = %(space)s AND agent_id IS NULL AND is_on
     AND NOT EXISTS (SELECT 1 FROM memoryhub_source WHERE space_id = %(space)s AND agent_id = %(agent)s)
)
SELECT l.path, l.printed, m.store, m.directory, m.prefix, m.thread, m.selection, m.node,
       f.mark, f.is_deleted, r.number, r.sha256, r.content,
       {agent}
  FROM memoryhub_agent a CROSS JOIN listed l
  LEFT JOIN LATERAL ({mount}) m ON true
  LEFT JOIN LATERAL ({file}) f ON true
  LEFT JOIN LATERAL ({text}) r ON true
 WHERE a.id = %(agent)s AND a.space_id = %(space)s
 ORDER BY l.n, l.position, l.id
"""
AGENT_COLUMNS = {
    "system_prompt": "a.system_prompt",
    "persona": "a.persona",
    "memory_is_on": "a.memory_is_on",
    "budget": "a.budget",
    "gives_way": "a.gives_way",
    "mark": "(SELECT longterm_mark FROM memoryhub_space WHERE id = %(space)s)",
    "template": "{template}",
    "template_asked": "{template_asked}",
    "lately": "{lately}",
    "waiting": "{waiting}",
    "views": "{views}",
}
TEMPLATE = f"coalesce(nullif(a.template, ''), ({framework_templates.CHOSEN_TEMPLATE.format(columns='t.text')}))"
NEWEST_ENTRIES = working.newest_of_both(
    "id, left(content, %(max_chars)s::int) AS content, date_part('epoch', created_at) AS at, scope = 'agent' AS own",
    "%(space)s", "%(agent)s", "%(hot)s",
)  # fmt: skip
NEWEST_ENTRIES_JSON = (
    f"(SELECT coalesce(json_agg(json_build_array(id, content, at, own)), '[]')::text FROM ({NEWEST_ENTRIES}) w)"  # noqa: S608
)
PENDING = """
SELECT number FROM memoryhub_proposal
 WHERE space_id = %(space)s AND state = 'pending' AND path = ANY({paths}) ORDER BY number
"""
PENDING_NUMBERS = f"ARRAY({PENDING.format(paths='ARRAY(SELECT path FROM listed WHERE n = 1)')})"  # noqa: S608


# What `retrieval.limits_of` says of a space `s` and an agent `a`.
HOT_LIMIT = "coalesce((a.retrieval ->> 'hot')::int, (s.settings -> 'retrieval' ->> 'hot')::int, 10)"


def newest_ids(space: str, agent: str, limit: str) -> str:
    """The SQL for the ids of the working entries that a prompt would show; `limit` is SQL too.

    They tell that agents added some, that some expired, were pushed out or taken out; what people change in an entry raises the
    space's revision.
    """
    return f"ARRAY({working.newest_of_both('id', space, agent, limit)})::text"


# The texts at known places, for inputs of which nothing but texts can have changed. A text whose sha256 is known is not sent.
TEXTS = f"""
SELECT p.n, f.mark, f.is_deleted, nullif(f.revision, 0), coalesce(r.sha256, nullif(f.sha256, '')), r.content,
       (SELECT longterm_mark FROM memoryhub_space WHERE id = %(space)s)
  FROM unnest(%(paths)s::text::text[], %(threads)s::text::text[], %(known)s::text::text[])
       WITH ORDINALITY AS p(path, thread, known, n)
  LEFT JOIN LATERAL (
    {fragments.file_at("p.path", "%(space)s", "p.thread", f"id, revision, {MARK}, is_deleted, sha256")}) f ON true
  LEFT JOIN LATERAL (
    {fragments.newest_text_of("f", "%(space)s", "sha256, content", "(f.is_deleted OR f.sha256 <> p.known)")}) r ON true
 ORDER BY p.n
"""  # noqa: S608 (an expression of ours)
