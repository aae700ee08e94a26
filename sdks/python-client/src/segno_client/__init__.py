"""A client of a Segno host, synchronous (:class:`Client`) and for asyncio (:class:`AsyncClient`)."""

from . import api
from ._async.blobs import AsyncBlobs
from ._async.client import AsyncClient
from ._async.execution import AsyncExecution
from ._async.listing import AsyncListing
from ._async.object import AsyncObjectHandle, AsyncObjectPromise
from ._async.promise import AsyncPromise
from ._async.schedule import AsyncSchedule
from ._async.update import AsyncUpdate
from ._sync.blobs import Blobs
from ._sync.client import Client
from ._sync.execution import Execution
from ._sync.listing import Listing
from ._sync.object import ObjectHandle, ObjectPromise
from ._sync.promise import Promise
from ._sync.schedule import Schedule
from ._sync.update import Update
from .blob import BlobContent, BlobReference
from .errors import (
    BlobDamagedError,
    ConflictError,
    ExecutionFailedError,
    ExecutionHaltedError,
    ForbiddenError,
    HostError,
    InvalidArgumentError,
    InvalidRequestError,
    InvalidValueError,
    NotFoundError,
    PromiseFailedError,
    RefusedError,
    RequestTimeoutError,
    SegnoError,
    UnauthorizedError,
    UnavailableError,
    UnexpectedAnswerError,
    UnreachableError,
    UpdateFailedError,
    WaitTimeoutError,
    WorkflowRefusedError,
)
from .options import Retry
from .references import FunctionReference, PromiseReference, QueryReference, SignalReference, UpdateReference

__all__ = [
    "AsyncBlobs",
    "AsyncClient",
    "AsyncExecution",
    "AsyncListing",
    "AsyncObjectHandle",
    "AsyncObjectPromise",
    "AsyncPromise",
    "AsyncSchedule",
    "AsyncUpdate",
    "BlobContent",
    "BlobDamagedError",
    "BlobReference",
    "Blobs",
    "Client",
    "ConflictError",
    "Execution",
    "ExecutionFailedError",
    "ExecutionHaltedError",
    "ForbiddenError",
    "FunctionReference",
    "HostError",
    "InvalidArgumentError",
    "InvalidRequestError",
    "InvalidValueError",
    "Listing",
    "NotFoundError",
    "ObjectHandle",
    "ObjectPromise",
    "Promise",
    "PromiseFailedError",
    "PromiseReference",
    "QueryReference",
    "RefusedError",
    "RequestTimeoutError",
    "Retry",
    "Schedule",
    "SegnoError",
    "SignalReference",
    "UnauthorizedError",
    "UnavailableError",
    "UnexpectedAnswerError",
    "UnreachableError",
    "Update",
    "UpdateFailedError",
    "UpdateReference",
    "WaitTimeoutError",
    "WorkflowRefusedError",
    "api",
]
