"""What the host calls, for the last line of `app.py`:

```python
from segno_sdk.exports import Commits, Functions, Handlers, Limits, Messages, Objects, Runs
```

In a component these are the exports of the module that imports them. Natively they are empty classes, so that tests can
import `app`.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Commits: Any
    Functions: Any
    Handlers: Any
    Limits: Any
    Messages: Any
    Objects: Any
    Runs: Any
else:
    if sys.platform != "wasi":
        Functions, Messages, Objects, Runs, Handlers, Limits, Commits = (
            type(name, (), {}) for name in ("Functions", "Messages", "Objects", "Runs", "Handlers", "Limits", "Commits")
        )
    else:
        from . import prepare
        from .component import export

        prepare.load_later_imports()
        Functions, Messages, Objects, Runs, Handlers, Limits, Commits = export(sys.modules["app"])

__all__ = ["Commits", "Functions", "Handlers", "Limits", "Messages", "Objects", "Runs"]
