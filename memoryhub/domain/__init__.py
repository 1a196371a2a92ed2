"""What the product does: one package per noun, one function per verb. No request, no HTML, no JSON.

Callers use the verbs that a package exports (`files.write`, `proposals.approve`), never its modules. Lower packages first:

activity       who did what, and the figures drawn from it
accounts       people, sign-in, tokens, what each may do
spaces         spaces, members, settings, change marks, events
jobs           the queue of slow and periodic work, and kept results
nodes          hubs that share a database
quotas         how much agents may send and store
notify         webhooks, the daily mail, outgoing HTTP
files          mounts, rules, reading, changing, revisions, the disk
working        working memory: the last day
retrieval      what memory gives to a question, search, saved checks
quarantine     raw output, the gate, the judge
longterm       entries, chunks, promotion, conflicts, the change of embedder, the map, import and export
prompts        agents, sources, templates, assembling and serving prompts, deliveries
proposals      asking, findings, review, deciding, undo, expiry
erasure        taking back what is kept permanently otherwise
exchange       import from elsewhere, export, Anthropic's memory tool, disks of a backup
coding_agents  coding agents of a machine: the files they read, faults of memory files
contexts       what coding agents see in mounted directories
write_hooks    writes of coding agents before they land
demo           the demo space

`first_start.py` makes what `memoryhub up` needs, out of all of them.
"""
