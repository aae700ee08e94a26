from __future__ import annotations

from collections.abc import Iterator

import pytest

from host import Host, deploy_all


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """One host with all components, for all tests."""
    host = Host()
    deploy_all(host.server)
    yield host
    host.close()
