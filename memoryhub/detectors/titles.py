"""What a finding is called where there is room for a word or two, by its code."""

TITLES = {
    "secrets": "secret, removed", "hidden": "hidden characters", "injection": "injection", "coherence": "incoherent",
    "risky_advice": "needs attention", "duplicate": "duplicate", "feedback": "from memory", "reads_only": "retrieval output", "transient": "transient",
    "vague": "vague", "cost": "too costly to check", "judge": "waits for the judge",
}  # fmt: skip
# Among others in a list, where a comma ends each.
IN_LISTS = TITLES | {"secrets": "removed secret"}
