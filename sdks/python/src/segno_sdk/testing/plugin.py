"""The plugin of pytest."""

import sys

import pytest

from .host import TestHost


@pytest.fixture
def segno_host() -> TestHost:
    """A host in virtual time, for one test."""
    return TestHost()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport() -> None:
    """Leaves the frames of this package out of the tracebacks of failed tests. `--full-trace` shows them."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "segno_sdk":
            vars(module)["__tracebackhide__"] = True
