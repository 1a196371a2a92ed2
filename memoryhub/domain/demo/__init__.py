"""The demo space."""

from memoryhub.domain.demo.start import exists, make, was_deleted
