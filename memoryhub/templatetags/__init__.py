"""Tags and filters of the templates. `glyphs`, `translation`, `hub` and `agent_names` are loaded everywhere, others by their pages."""
