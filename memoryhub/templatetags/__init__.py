"""Tags and filters of the templates: `glyphs`, `hub` and `agent_names` are loaded everywhere, the others are named after their pages."""
