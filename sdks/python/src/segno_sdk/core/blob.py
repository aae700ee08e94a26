"""Blobs: large values that are stored beside the database and passed by reference."""

import json
from collections.abc import AsyncIterable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ..codec.base import Codec
from ..codec.find import set_codec
from ..codec.record import Field, RecordCodec
from ..codec.scalar import IntCodec, StrCodec
from .engine import AttemptEngine

#: The size of one call of the host, in bytes.
PART = 1 << 20
#: The content type of bytes.
BYTES_TYPE = "application/octet-stream"
#: The content type of text.
TEXT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Blob:
    """The reference of a blob.

    It is passed as any value, or as a part of one. The blob belongs to the root of the tree of executions in which it was
    written, and is removed with it.
    """

    #: `INVOCATION/blob/DIGEST`.
    id: str
    #: The size of the content.
    bytes: int
    #: The media type of the content.
    content_type: str

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, in hexadecimal."""
        return self.id.rpartition("/")[2]

    @classmethod
    def of_json(cls, text: str) -> "Blob":
        """Reads the JSON of a reference."""
        return _of_fields(json.loads(text))

    def to_json(self) -> str:
        """The JSON of the reference."""
        return json.dumps(_fields(self), ensure_ascii=False)


def _fields(blob: Blob) -> dict[str, Any]:
    return {"segno:blob": blob.id, "bytes": blob.bytes, "content_type": blob.content_type}


def _of_fields(fields: dict[str, Any]) -> Blob:
    return Blob(fields["segno:blob"], fields["bytes"], fields["content_type"])


def _codec() -> Codec:
    def fields() -> list[Field]:
        return [
            Field("segno:blob", StrCodec(), True),
            Field("bytes", IntCodec(), True),
            Field("content_type", StrCodec(), True),
        ]

    return RecordCodec(Blob, "Blob", fields, _of_fields, _fields)


# The names of its fields in JSON are not those of the class.
set_codec(Blob, _codec())


class BlobWriter:
    """A blob that is being written. As a context manager, it is dropped when its block fails."""

    def __init__(self, engine: AttemptEngine, content_type: str) -> None:
        self._engine = engine
        self._writer = engine.blob_create(content_type)
        self._is_open = True

    def write(self, piece: str | bytes) -> int:
        """Adds a piece. Returns its length in bytes."""
        content = memoryview(piece.encode() if isinstance(piece, str) else piece).cast("B")
        for at in range(0, len(content), PART):
            self._engine.blob_write(self._writer, bytes(content[at : at + PART]))
        return len(content)

    def finish(self) -> Blob:
        """Stores the blob."""
        self._is_open = False
        return Blob.of_json(self._engine.blob_finish(self._writer))

    def abandon(self) -> None:
        """Drops what was written."""
        if self._is_open:
            self._is_open = False
            self._engine.blob_abandon(self._writer)

    def __enter__(self) -> "BlobWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()


class Blobs:
    """The blobs of an attempt.

    Failures: 403 the blob belongs to an execution that this one may not read, 404 there is no such blob, 413 it is too
    large, 422 its content is damaged, 501 the host has no place for blobs, 503 the place does not answer.
    """

    def __init__(self, engine: AttemptEngine) -> None:
        self._engine = engine

    def create(self, content_type: str = BYTES_TYPE) -> BlobWriter:
        """Begins a blob that is written in pieces: `with ctx.blobs.create() as blob: …; return blob.finish()`."""
        return BlobWriter(self._engine, content_type)

    def write(
        self, content: "str | bytes | IO[bytes] | Iterable[str | bytes]", content_type: str | None = None
    ) -> Blob:
        """Stores a text, bytes, what a reader reads, or the pieces of an iterable."""
        default = TEXT_TYPE if isinstance(content, str) else BYTES_TYPE
        with self.create(content_type or default) as writer:
            for piece in _pieces(content):
                writer.write(piece)
            return writer.finish()

    async def write_from(self, content: AsyncIterable[str | bytes], content_type: str = BYTES_TYPE) -> Blob:
        """Stores the pieces of an asynchronous iterable, as they come."""
        with self.create(content_type) as writer:
            async for piece in content:
                writer.write(piece)
            return writer.finish()

    def read(self, blob: Blob) -> bytes:
        """All bytes of a blob."""
        return b"".join(self.pieces(blob))

    def read_text(self, blob: Blob) -> str:
        """A blob as text (UTF-8)."""
        return self.read(blob).decode()

    def read_part(self, blob: Blob, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on; fewer at the end, and where the limit of the host is smaller."""
        return self._engine.blob_read(blob.to_json(), offset, length)

    def pieces(self, blob: Blob) -> Iterator[bytes]:
        """The content in pieces. The host compares the whole with its digest before it gives the last one."""
        reference, at = blob.to_json(), 0
        while at < blob.bytes:
            piece = self._engine.blob_read(reference, at, PART)
            if not piece:
                return
            yield piece
            at += len(piece)


def _pieces(content: Any) -> Iterable[str | bytes]:
    if isinstance(content, (str, bytes, bytearray, memoryview)):
        return [content]  # type: ignore[list-item]
    if hasattr(content, "read"):
        return iter(lambda: content.read(PART), b"")
    return content  # type: ignore[no-any-return]
