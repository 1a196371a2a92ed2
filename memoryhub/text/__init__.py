"""Pure functions on text: lines, diffs, merges, blame, edits, Markdown, path patterns."""
