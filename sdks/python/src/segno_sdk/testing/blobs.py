"""The blobs of a test, in memory."""

import hashlib
import json
import re

from ..core.blob import Blob
from ..core.failure import BAD_INPUT, NOT_FOUND, Failure

#: Maximum number of open writers.
WRITERS_MAX = 16
_MEDIA_TYPE = re.compile(r"[ !-.0-~]+/[ -~]+")


class TestBlobs:
    """All blobs of a test, by id."""

    __test__ = False

    def __init__(self) -> None:
        self._stored: dict[str, bytes] = {}
        self._writers: dict[int, tuple[str, bytearray]] = {}
        self._next = 0

    def store(self, owner: str, content_type: str, content: bytes) -> Blob:
        """Stores a blob."""
        id = f"{owner}/blob/{hashlib.sha256(content).hexdigest()}"
        self._stored[id] = content
        return Blob(id, len(content), content_type)

    def content(self, blob: Blob) -> bytes:
        """The content of a blob."""
        return self._stored[blob.id]

    def create(self, content_type: str) -> int:
        """Begins a blob."""
        if not _MEDIA_TYPE.fullmatch(content_type):
            raise Failure(BAD_INPUT, f"the content type `{content_type}` cannot be used: write one such as image/png")
        if len(self._writers) >= WRITERS_MAX:
            raise Failure(BAD_INPUT, f"an attempt has at most {WRITERS_MAX} blobs open for writing")
        self._next += 1
        self._writers[self._next] = (content_type, bytearray())
        return self._next

    def write(self, writer: int, piece: bytes) -> None:
        """Adds bytes."""
        self._open(writer)[1].extend(piece)

    def finish(self, owner: str, writer: int) -> str:
        """Stores what was written, and gives the reference."""
        content_type, content = self._open(writer)
        del self._writers[writer]
        return self.store(owner, content_type, bytes(content)).to_json()

    def abandon(self, writer: int) -> None:
        """Drops what was written."""
        self._writers.pop(writer, None)

    def read(self, reference: str, offset: int, length: int) -> bytes:
        """Reads a part."""
        id = json.loads(reference)["segno:blob"]
        if id not in self._stored:
            raise Failure(NOT_FOUND, f"there is no blob `{id}`: a test gives one by host.blob(…)")
        return self._stored[id][offset : offset + length]

    def _open(self, writer: int) -> tuple[str, bytearray]:
        if writer not in self._writers:
            raise Failure(BAD_INPUT, f"the writer {writer} of a blob is not open: it was finished or abandoned")
        return self._writers[writer]
