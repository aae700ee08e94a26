"""What the host calls, for the last line of `app.py`:

```python
from segno_sdk.exports import Commits, Exposures, Functions, Handlers, Limits, Messages, Objects, Runs
```

In a component these are the exports of the module that imports them. Natively they are empty classes, so that tests can
import `app`.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commits: Any
    Exposures: Any
    Functions: Any
    Handlers: Any
    Limits: Any
    Messages: Any
    Objects: Any
    Runs: Any
else:
    if sys.platform != "wasi":
        Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures = (
            type(name, (), {})
            for name in ("Functions", "Messages", "Objects", "Runs", "Handlers", "Limits", "Commits", "Exposures")
        )
    else:
        from . import prepare
        from .component import export

        prepare.load_later_imports()
        Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures = export(sys.modules["app"])

__all__ = ["Commits", "Exposures", "Functions", "Handlers", "Limits", "Messages", "Objects", "Runs"]
