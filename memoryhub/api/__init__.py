"""JSON for agents: one module per noun, its schemas beside its calls. `v1` puts them together, `base` has what all share."""
