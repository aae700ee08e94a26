from __future__ import annotations

import hashlib
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from answering import Answer, answering
from host import Host
from segno_client import (
    AsyncClient,
    BlobDamagedError,
    BlobReference,
    InvalidArgumentError,
    InvalidRequestError,
    NotFoundError,
    UnexpectedAnswerError,
)

pytestmark = pytest.mark.anyio
MEBIBYTE = 1 << 20


@pytest.fixture
async def client(host: Host) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host.server, "") as client:
        yield client


def new(name: str) -> str:
    return f"{name}-{uuid4()}"


async def pieces(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield bytes([number % 251]) * MEBIBYTE


async def test_bytes_and_texts_pass_and_ranges_are_read(client: AsyncClient) -> None:
    id = new("order")
    blob = await client.blobs.upload(id, b"0123456789")
    digest = hashlib.sha256(b"0123456789").hexdigest()
    assert blob == {
        "segno:blob": f"{id}/blob/{digest}",
        "bytes": 10,
        "content_type": "application/octet-stream",
    }
    assert await client.blobs.read(blob) == b"0123456789"
    for offset, length, part in [(2, 3, b"234"), (8, None, b"89"), (0, 1, b"0"), (10, 0, b"")]:
        assert await client.blobs.read(blob, offset=offset, length=length) == part
    for offset, length in [(9, 2), (-1, 1), (11, None)]:
        with pytest.raises(InvalidArgumentError, match="of a blob of 10 bytes"):
            await client.blobs.read(blob, offset=offset, length=length)
    text = await client.blobs.upload(id, "é")
    assert (text["content_type"], await client.blobs.read(text)) == ("text/plain; charset=utf-8", "é".encode())
    empty = await client.blobs.upload(id, b"", content_type="a/b")
    assert await client.blobs.read(empty) == b""
    listed = (await client.blobs.list(id))["blobs"]
    assert {one["segno:blob"] for one in listed} == {one["segno:blob"] for one in (blob, text, empty)}
    assert all(one["stored_at_ms"] > 0 for one in listed)
    await client.blobs.remove(blob)
    with pytest.raises(NotFoundError) as caught:
        await client.blobs.read(blob)
    assert caught.value.code == "unknown-blob"


async def test_files_pass_in_both_directions(client: AsyncClient, tmp_path: Path) -> None:
    source, copy = tmp_path / "scan.pdf", tmp_path / "copy.pdf"
    source.write_bytes(bytes(range(256)) * 4_000)
    id = new("scan")
    by_path = await client.blobs.upload(id, source, content_type="application/pdf")
    with source.open("rb") as file:
        by_file = await client.blobs.upload(id, file, content_type="application/pdf")
    assert by_path == by_file
    await client.blobs.save(by_path, copy)
    assert copy.read_bytes() == source.read_bytes()
    with copy.open("wb") as written:
        await client.blobs.save(by_path, written)
    assert copy.read_bytes() == source.read_bytes()
    await client.blobs.remove(by_path)
    with pytest.raises(NotFoundError):
        await client.blobs.save(by_path, copy)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["copy.pdf", "scan.pdf"]
    assert copy.read_bytes() == source.read_bytes()
    with pytest.raises(FileNotFoundError):
        await client.blobs.upload(id, tmp_path / "none")


async def test_large_content_passes_in_pieces(client: AsyncClient) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    blob = await client.blobs.upload(new("large"), pieces(200), content_type="a/b")
    assert blob["bytes"] == 200 * MEBIBYTE
    seen = 0
    async for piece in client.blobs.pieces(blob):
        seen += len(piece)
    assert seen == blob["bytes"]
    part = client.blobs.pieces(blob, offset=7 * MEBIBYTE - 1, length=2)
    assert b"".join([piece async for piece in part]) == bytes([6, 7])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert grown < 50, f"{grown} MiB"
    await client.blobs.remove(blob)


async def test_a_reference_is_an_input(client: AsyncClient) -> None:
    id = new("input")
    blob = await client.blobs.upload(id, ["some ", b"text"], content_type="text/plain")
    promise = await client.create_promise(new("holds"), param={"document": blob})
    param = (await promise.status()).get("param")
    assert param is not None
    assert await client.blobs.read(param["document"]) == b"some text"


async def test_damage_is_found_on_both_sides(host: Host, client: AsyncClient) -> None:
    for size in (9, 5 * MEBIBYTE):
        id = new("damaged")
        blob = await client.blobs.upload(id, b"x" * size)
        (file,) = (file for file in (host.blobs / id).rglob("*") if file.is_file())
        file.write_bytes(b"X" + b"x" * (size - 1))
        with pytest.raises((BlobDamagedError, InvalidRequestError)) as caught:
            await client.blobs.read(blob)
        assert caught.value.code == "blob-damaged"
    wrong = {"segno:blob": f"a/blob/{'0' * 64}", "bytes": 3, "content_type": "a/b"}
    with answering(lambda _, request: request.json(wrong, 201)) as (server, seen):
        async with AsyncClient(server, "") as liar:
            with pytest.raises(BlobDamagedError, match="has the digest"):
                await liar.blobs.upload("a", b"abc")
    assert seen == ["POST /v1/invocations/a/blobs"]


async def test_a_broken_download_goes_on_where_it_ended() -> None:
    content = bytes(range(200))
    asked = []

    def answer(number: int, request: Answer) -> None:
        asked.append(request.headers.get("range"))
        given = (asked[-1] or "bytes=0-").removeprefix("bytes=").split("-")[0]
        rest = content[int(given) :]
        request.send_response(206 if asked[-1] else 200)
        request.send_header("content-length", str(len(rest)))
        request.end_headers()
        request.wfile.write(rest[:70])
        request.close_connection = True

    blob = reference(content)
    with answering(answer) as (server, _):
        async with AsyncClient(server, "") as client:
            assert await client.blobs.read(blob) == content
    assert asked == [None, "bytes=70-199", "bytes=140-199"]


async def test_answers_that_are_no_range_or_too_short_are_refused() -> None:
    blob = reference(b"0123456789")
    with answering(lambda _, request: request.json(b"01234")) as (server, _):
        async with AsyncClient(server, "") as client:
            for offset, reason in [(0, "5 bytes of a blob, and not 10"), (2, "no range")]:
                with pytest.raises(UnexpectedAnswerError, match=reason):
                    await client.blobs.read(blob, offset=offset)


def reference(content: bytes) -> BlobReference:
    digest = hashlib.sha256(content).hexdigest()
    return {"segno:blob": f"a/blob/{digest}", "bytes": len(content), "content_type": "a/b"}


async def test_what_is_no_content_and_no_reference_is_refused(client: AsyncClient) -> None:
    with pytest.raises(InvalidArgumentError, match="not a int"):
        await client.blobs.upload("a", [1])  # type: ignore[list-item]
    for wrong in ({}, {"segno:blob": "a", "bytes": 1}, {"segno:blob": f"a/blob/{'0' * 64}"}, None):
        with pytest.raises(InvalidArgumentError, match="no reference of a blob"):
            await client.blobs.read(wrong)  # type: ignore[arg-type]
    broken = new("broken")
    with pytest.raises(ZeroDivisionError):
        await client.blobs.upload(broken, (bytes(1 // (2 - at)) for at in range(4)))
    assert (await client.blobs.list(broken))["blobs"] == []
