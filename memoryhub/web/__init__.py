"""Pages for people: one module per noun. `access` says who may, `helpers` and `notices` are shared."""
