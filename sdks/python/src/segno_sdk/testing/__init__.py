"""Tests of workflows, in virtual time and without a host.

```python
from segno_sdk.testing import TestHost

def test_order(segno_host: TestHost) -> None:
    segno_host.on(charge, "receipt 7")
    segno_host.signal("approved", True, after="1h")
    assert segno_host.run(order, Order("o-1", 1200)) == "receipt 7"
```

The fixture `segno_host` is there wherever the package is installed.
"""

from .doubles import SeenRequest
from .host import Answer, PromisePlan, TestHost
from .world import Stuck

__all__ = ["Answer", "PromisePlan", "SeenRequest", "Stuck", "TestHost"]

# As it is imported.
Stuck.__module__ = __name__
