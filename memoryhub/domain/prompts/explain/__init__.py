"""Why a prompt is as it is: where a line came from, and what changed between two moments."""
