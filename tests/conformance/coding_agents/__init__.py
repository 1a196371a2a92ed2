"""Our contexts of coding agents against the real programs: `python -m tests.conformance.coding_agents [--record]`."""
