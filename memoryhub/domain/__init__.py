"""What the product does: one module per noun, one function per verb. The first line of each says what it is.

Who            spaces people access agents tokens
Files          mounts files changing published revisions browsing edits shelf packing
  on disk      syncing watching
  their lines  lines matching diffs words merging blame
  shown        markdown gfm
Prompts        prompts gathering ondisk looking_back handing deliveries
  from what    sources templates
  beside it    comparing fleet
Proposals      proposals gate wishes policies patterns protected secrecy
Layers         intake quarantine ingress judging repeats working remembering
  for good     longterm longterm_files longterm_import longterm_map maps promotions pairs indexing splitting erasure
Finding        retrieval candidates postings vectors vector_index texts undermark ranking lexemes meaning whose search
  checked      retrieval_checks reembedding
Other doors    memory_tool contents imports import_formats exporting backups
Telling        activity overview counts metrics digests webhooks outbound
Underneath     hot meanwhile jobs turnstile made
At the start   first_start demo demo_files demo_prompts demo_proposals demo_layers
"""
