"""Blobs in the test kit."""

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from segno_sdk import ActivityContext, Blob, Context, Failure, activity, workflow
from segno_sdk.codec import codec_of, schema_text
from segno_sdk.testing import TestHost


@dataclass
class Document:
    """A document, with its content elsewhere."""

    title: str
    content: Blob


@activity
def render(pages: int, ctx: ActivityContext) -> Document:
    content = ctx.blobs.write((f"page {page}\n" for page in range(pages)), "text/plain")
    return Document("report", content)


@activity
def count(document: Document, ctx: ActivityContext) -> int:
    return sum(piece.count(b"\n") for piece in ctx.blobs.pieces(document.content))


@workflow
async def publish(pages: int, ctx: Context) -> Document:
    document = await ctx.call(render, pages)
    assert await ctx.call(count, document) == pages
    return document


def test_a_reference_passes_from_an_activity_to_another() -> None:
    host = TestHost()
    document = host.run(publish, 3)
    assert document.content.content_type == "text/plain"
    assert document.content.bytes == 21
    assert document.content.id == f"test/blob/{document.content.digest}"
    assert host.blob_content(document.content) == b"page 0\npage 1\npage 2\n"


def test_the_json_of_a_reference_is_that_of_the_contract() -> None:
    blob = Blob("a/blob/00", 7, "text/plain")
    fields = {"segno:blob": "a/blob/00", "bytes": 7, "content_type": "text/plain"}
    assert codec_of(Blob).encode(blob, "") == fields
    assert codec_of(Blob).decode(fields, "") == blob
    assert Blob.of_json(blob.to_json()) == blob
    assert '"segno:blob"' in str(schema_text(codec_of(Document)))


@activity
async def write(kind: str, ctx: ActivityContext) -> Blob:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    match kind:
        case "text":
            return ctx.blobs.write("grüß")
        case "reader":
            return ctx.blobs.write(io.BytesIO(b"x" * 3_000_000))
        case "async":
            return await ctx.blobs.write_from(pieces())
        case "fails":
            with ctx.blobs.create() as blob:
                blob.write(b"x")
                raise Failure(422, "no")
        case "type":
            return ctx.blobs.write(b"", "nonsense")
        case _:
            blob = ctx.blobs.create("a/b")
            blob.finish()
            blob.write(b"x")
            return blob.finish()


@workflow
async def writes(kind: str, ctx: Context) -> Blob:
    return await ctx.call(write, kind)


@pytest.mark.parametrize(
    ("kind", "content_type", "content"),
    [
        ("text", "text/plain; charset=utf-8", "grüß".encode()),
        ("reader", "application/octet-stream", b"x" * 3_000_000),
        ("async", "application/octet-stream", b"ab"),
    ],
)
def test_texts_readers_and_iterators_are_written(kind: str, content_type: str, content: bytes) -> None:
    host = TestHost()
    blob = host.run(writes, kind)
    assert (blob.content_type, blob.bytes) == (content_type, len(content))
    assert host.blob_content(blob) == content


@pytest.mark.parametrize(
    ("kind", "code", "said"), [("fails", 422, "no"), ("type", 400, "`nonsense`"), ("closed", 400, "not open")]
)
def test_what_a_host_would_refuse_fails(kind: str, code: int, said: str) -> None:
    with pytest.raises(Failure, match=said) as failed:
        TestHost().run(writes, kind)
    assert failed.value.code == code


@activity
def read(blob: Blob, ctx: ActivityContext) -> list[str]:
    return [ctx.blobs.read_text(blob), ctx.blobs.read_part(blob, 2, 3).decode()]


@workflow
async def reads(blob: Blob, ctx: Context) -> list[str]:
    return await ctx.call(read, blob)


def test_a_test_gives_blobs() -> None:
    host = TestHost()
    assert host.run(reads, host.blob("0123456789", "text/plain")) == ["0123456789", "234"]
    with pytest.raises(Failure, match="there is no blob `x/blob/00`"):
        TestHost().run(reads, Blob("x/blob/00", 3, "a/b"))
