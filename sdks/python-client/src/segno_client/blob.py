"""The reference of a blob, and the check of content against it. It sends nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import AsyncIterable, Iterable, Mapping
from os import PathLike
from typing import Any, BinaryIO, TypeAlias

from .api import BlobView
from .errors import BlobDamagedError, InvalidArgumentError

BlobReference = BlobView
"""The reference of a blob: JSON, which is passed as an input or as a part of one."""

Piece: TypeAlias = str | bytes | bytearray | memoryview
"""A piece of content."""

BlobContent: TypeAlias = Piece | PathLike[str] | BinaryIO | Iterable[Piece] | AsyncIterable[Piece]
"""Content of a blob: a text, bytes, the path of a file, an open file, or pieces."""

PIECE_BYTES = 256 << 10
"""Number of bytes that are read from a file at once."""
TEXT_TYPE = "text/plain; charset=utf-8"
BYTES_TYPE = "application/octet-stream"


def bytes_of(piece: Any) -> bytes:
    """The bytes of a piece."""
    if isinstance(piece, str):
        return piece.encode()
    if isinstance(piece, bytes | bytearray | memoryview):
        return bytes(piece)
    raise InvalidArgumentError(f"a piece of a blob is bytes or a text, and not a {type(piece).__name__}")


def parts_of(blob: Mapping[str, Any]) -> tuple[dict[str, str], int]:
    """Returns the path of a blob in the API, and its size."""
    try:
        owner, _, digest = blob["segno:blob"].rpartition("/blob/")
        if owner and len(digest) == 64 and isinstance(blob["bytes"], int):
            return {"id": owner, "digest": digest}, blob["bytes"]
    except (KeyError, TypeError, AttributeError):
        pass
    raise InvalidArgumentError(
        "this is no reference of a blob: pass on what `blobs.upload` or an execution returned"
    )


def range_of(offset: int, length: int | None, size: int) -> tuple[int, int]:
    """Returns the beginning and the end of a range, which must be in the blob."""
    end = size if length is None else offset + length
    if not 0 <= offset <= end <= size:
        raise InvalidArgumentError(
            f"`offset` and `length` name the bytes {offset} to {end} of a blob of {size} bytes"
        )
    return offset, end


class Check:
    """Compares content with the digest in a reference."""

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, piece: bytes) -> None:
        """Adds the next piece."""
        self._sha.update(piece)

    @property
    def header(self) -> str:
        """The value of ``Content-Digest``."""
        return f"sha-256=:{b64encode(self._sha.digest()).decode()}:"

    def compare(self, blob: Mapping[str, Any]) -> None:
        """Raises :class:`BlobDamagedError` if the content is not that of ``blob``."""
        id = str(blob["segno:blob"])
        if not id.endswith(f"/{self._sha.hexdigest()}"):
            raise BlobDamagedError(id, self._sha.hexdigest())
