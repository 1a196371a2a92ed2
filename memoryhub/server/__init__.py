"""Runs the hub: its PostgreSQL, web workers (`http/`), the background process, migration, backup files."""
