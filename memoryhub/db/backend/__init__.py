"""Django's backend for PostgreSQL, which does not wait for a server that hangs."""
