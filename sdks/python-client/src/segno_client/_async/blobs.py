"""Blobs: large values of executions, which are stored beside the database and passed by reference."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import aclosing
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

from .._clock import async_in_thread
from ..api import (
    DELETE_INVOCATIONS_ID_BLOBS_DIGEST,
    GET_INVOCATIONS_ID_BLOBS,
    GET_INVOCATIONS_ID_BLOBS_DIGEST,
    POST_INVOCATIONS_ID_BLOBS,
    BlobList,
)
from ..blob import (
    BYTES_TYPE,
    PIECE_BYTES,
    TEXT_TYPE,
    BlobContent,
    BlobReference,
    Check,
    bytes_of,
    parts_of,
    range_of,
)
from ..errors import RequestTimeoutError, UnexpectedAnswerError, UnreachableError
from .transport import AsyncContent, AsyncTransport

STORE_MS = 300_000.0
"""Time that a host may take to store what it received."""


class AsyncBlobs:
    """The blobs of a host. Content passes in pieces, and its digest is checked on both sides."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(self, id: str, content: BlobContent, *, content_type: str | None = None) -> BlobReference:
        """Stores a blob of an execution, which need not exist yet, and returns its reference.

        Args:
            id: Id of the execution.
            content: Bytes, a text, the path of a file, an open file, or pieces. A ``str`` is the content and not
                a path. An open file and pieces are read once, so their upload is not repeated.
            content_type: Media type. Default: ``text/plain; charset=utf-8`` for a text, else
                ``application/octet-stream``.

        Raises:
            BlobDamagedError: what the host stored is not what was sent.
        """
        check = Check()
        kind = content_type or (TEXT_TYPE if isinstance(content, str) else BYTES_TYPE)
        headers = {"content-type": kind}
        sent: AsyncContent
        is_repeatable = isinstance(content, str | bytes | bytearray | memoryview | PathLike)
        if isinstance(content, PathLike):
            path, size = content, 0
            async for piece in _file(path):
                check.add(piece)
                size += len(piece)
            headers |= {"content-digest": check.header, "content-length": str(size)}

            def sent() -> AsyncIterable[bytes]:
                return _file(path)

        elif isinstance(content, str | bytes | bytearray | memoryview):
            sent = bytes_of(content)
            check.add(sent)
            headers["content-digest"] = check.header
        else:
            source = content

            def sent() -> AsyncIterable[bytes]:
                return _checked(source, check)

        blob = await self._transport.upload(
            POST_INVOCATIONS_ID_BLOBS, {"id": id}, sent, headers, is_repeatable=is_repeatable, wait_ms=STORE_MS
        )
        check.compare(blob)
        return blob

    async def pieces(
        self, blob: BlobReference, *, offset: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yields the content, or ``length`` bytes from ``offset``, as it arrives.

        A connection that breaks off is made again for the rest. Whoever reads a blob to its end has what was
        written: otherwise the last piece is a :class:`BlobDamagedError`. A range is checked only for its size.
        """
        path, size = parts_of(blob)
        at, end = range_of(offset, length, size)
        check = Check() if at == 0 and end == size else None
        while at < end or (size == 0 and check is not None):
            began_at = at
            headers = {} if at == 0 and end == size else {"range": f"bytes={at}-{end - 1}"}
            try:
                async with aclosing(
                    self._transport.pieces(GET_INVOCATIONS_ID_BLOBS_DIGEST, path, headers)
                ) as arriving:
                    async for piece in arriving:
                        at += len(piece)
                        if check is not None:
                            check.add(piece)
                            if at >= end:
                                check.compare(blob)
                        yield piece
            except (UnreachableError, RequestTimeoutError):
                if at == began_at:
                    raise
                continue
            if at != end:
                reason = f"it sent {at - began_at} bytes of a blob, and not {end - began_at}"
                raise UnexpectedAnswerError(self._transport.settings.server, 200, reason)
            return

    async def read(self, blob: BlobReference, *, offset: int = 0, length: int | None = None) -> bytes:
        """The content, or ``length`` bytes from ``offset``."""
        return b"".join([piece async for piece in self.pieces(blob, offset=offset, length=length)])

    async def save(self, blob: BlobReference, file: PathLike[str] | BinaryIO) -> None:
        """Writes the content to a path or an open file. A path has the whole content, or is left as it was."""
        if not isinstance(file, PathLike):
            async for piece in self.pieces(blob):
                await async_in_thread(file.write, piece)
            return
        beside = Path(f"{os.fspath(file)}.part")
        try:
            with beside.open("wb") as part:
                await self.save(blob, part)
            beside.replace(file)
        finally:
            beside.unlink(missing_ok=True)

    async def list(self, id: str) -> BlobList:
        """The blobs of an execution, by digest, at most 10,000."""
        return await self._transport.send(GET_INVOCATIONS_ID_BLOBS, {"id": id})

    async def remove(self, blob: BlobReference) -> None:
        """Removes a blob. References to it then lead nowhere."""
        await self._transport.send(DELETE_INVOCATIONS_ID_BLOBS_DIGEST, parts_of(blob)[0])


async def _file(path: PathLike[str]) -> AsyncIterator[bytes]:
    with open(path, "rb") as file:
        while piece := await async_in_thread(file.read, PIECE_BYTES):
            yield piece


async def _checked(content: Any, check: Check) -> AsyncIterator[bytes]:
    """The pieces of an open file or an iterable, while they are added to ``check``."""
    if hasattr(content, "read"):
        while piece := bytes_of(await async_in_thread(content.read, PIECE_BYTES)):
            check.add(piece)
            yield piece
        return
    if isinstance(content, AsyncIterable):
        async for one in content:
            check.add(piece := bytes_of(one))
            yield piece
        return
    for one in cast(Iterable[Any], content):
        check.add(piece := bytes_of(one))
        yield piece
