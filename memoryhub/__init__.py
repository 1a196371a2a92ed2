"""memoryhub: see, edit and approve what your AI agents remember."""

__version__ = "0.1.0"
