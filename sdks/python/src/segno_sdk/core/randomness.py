"""The random numbers of one execution: the same in every replay."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Randomness:
    """Makes `random`, `os.urandom`, `uuid` and `secrets` draw from a seed."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        # Made when it is needed: a generator has 625 numbers.
        self._state: Any = None
        self._bytes: random.Random | None = None

    def enter(self) -> None:
        """Draws from here from now on."""
        if self._state is None:
            random.seed(self._seed)
        else:
            random.setstate(self._state)
        os.urandom = self._draw
        setattr(random, "_urandom", self._draw)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Draws from here for a while."""
        before, urandom = random.getstate(), os.urandom
        self.enter()
        try:
            yield
        finally:
            self._state = random.getstate()
            random.setstate(before)
            os.urandom = urandom
            setattr(random, "_urandom", urandom)

    def _draw(self, size: int, /) -> bytes:
        if self._bytes is None:
            self._bytes = random.Random(self._seed + b"bytes")
        return self._bytes.randbytes(size)
