"""The command line: `commands/` has a module for each command, `base` what they share."""
