"""Texts that a person is writing: what each would do if it were saved as it stands in the editor."""
