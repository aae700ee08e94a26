# Written by `scripts/unasync.py` from `src/segno_client/_async/listing.py`. Do not edit.
"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Iterator, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Page = TypeVar("Page")


class Listing(Generic[Item, Page]):
    """Items of a list, fetched page by page: ``for item in listing``."""

    def __init__(
        self,
        fetch: Callable[[str | None], Page],
        items: Callable[[Page], Sequence[Item]],
        next: Callable[[Page], str | int | None],
    ) -> None:
        self._fetch = fetch
        self._items = items
        self._next = next

    def pages(self) -> Iterator[Page]:
        """The pages, with what they have beside the items: counts, and rows that cannot be read.

        A page may be empty and still not be the last.
        """
        after: str | None = None
        while True:
            page = self._fetch(after)
            yield page
            following = self._next(page)
            if following is None:
                return
            after = str(following)

    def __iter__(self) -> Iterator[Item]:
        for page in self.pages():
            for item in self._items(page):
                yield item

    def take(self, max: int) -> list[Item]:
        """The first ``max`` items."""
        items: list[Item] = []
        if max <= 0:
            return items
        for item in self:
            items.append(item)
            if len(items) >= max:
                break
        return items
