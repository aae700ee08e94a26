"""Durable functions in Python: workflows, activities and objects that Segno runs.

```python
from segno_sdk import ActivityContext, Context, Retry, activity, workflow

@activity(retry=Retry(max_attempts=5))
async def charge(cents: int, ctx: ActivityContext) -> str:
    response = await ctx.http("POST", "https://pay.example.com/charges", json={"cents": cents})
    return response.raise_for_status().json(str)

@workflow(signals={"approved": bool})
async def order(cents: int, ctx: Context) -> str | None:
    approved = await ctx.signal("approved", bool, timeout="2d")
    return await ctx.call(charge, cents) if approved else None
```

Tests: `segno_sdk.testing`. Requests: `segno_sdk.http`.
"""

from . import http
from .core.arriving import ArrivingResponse
from .core.attempt import ActivityContext, Files
from .core.blob import Blob, Blobs, BlobWriter
from .core.budget import BudgetLimits, BudgetUnit
from .core.context import Context, Signal
from .core.defect import Defect
from .core.duration import Duration
from .core.failure import BudgetSpent, Failure, NotAvailable, NotDeterministic, NotJson, TimedOut
from .core.function import Activity, Function, Workflow, activity, workflow
from .core.graph.builder import GraphBuilder
from .core.graph.definition import Graph, graph
from .core.graph.place import Condition, Output, Place
from .core.lines import ServerEvent
from .core.module import Module
from .core.object import Object, exclusive, once, shared
from .core.options import Limit, Retry
from .core.reference import FunctionReference
from .core.saga import Saga, Undo
from .core.state import ObjectPromise, State, StateMap
from .core.stream import ActivityStream, WorkflowStream
from .core.stream_reader import StreamReader
from .core.waits import Call, Command, Promise

__all__ = [
    "Activity",
    "ActivityContext",
    "ActivityStream",
    "BudgetLimits",
    "BudgetSpent",
    "BudgetUnit",
    "ArrivingResponse",
    "Blob",
    "BlobWriter",
    "Blobs",
    "Call",
    "Command",
    "Condition",
    "Context",
    "Defect",
    "Duration",
    "Failure",
    "Files",
    "Function",
    "FunctionReference",
    "Graph",
    "GraphBuilder",
    "Limit",
    "Module",
    "NotAvailable",
    "NotDeterministic",
    "NotJson",
    "Object",
    "ObjectPromise",
    "Output",
    "Place",
    "Promise",
    "Retry",
    "Saga",
    "ServerEvent",
    "Signal",
    "State",
    "StateMap",
    "StreamReader",
    "TimedOut",
    "Undo",
    "Workflow",
    "WorkflowStream",
    "activity",
    "exclusive",
    "graph",
    "http",
    "once",
    "shared",
    "workflow",
]

__version__ = "0.1.0"

# Tracebacks name them as they are imported.
for _error in (BudgetSpent, Defect, Failure, NotAvailable, NotDeterministic, NotJson, TimedOut):
    _error.__module__ = __name__
