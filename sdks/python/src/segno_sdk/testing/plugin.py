"""The plugin of pytest."""

import pytest

from .host import TestHost


@pytest.fixture
def segno_host() -> TestHost:
    """A host in virtual time, for one test."""
    return TestHost()
