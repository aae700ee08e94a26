from __future__ import annotations

import dataclasses
import re
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest

from segno_client import InvalidValueError
from segno_client.options import identity
from segno_client.retrying import retry_after_ms
from segno_client.values import dumps, loads


@dataclasses.dataclass
class Order:
    cents: int


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"price": float("nan")}, "`price` is nan"),
        ([1, {"at": float("inf")}], r"`\[1\]\.at` is inf"),
        ({"of": {1, 2}}, "`of` is a set, which JSON cannot say: pass a list"),
        ({"of": {1: "a"}}, "`of` has the key 1: keys must be texts"),
        (Order(1), "is a Order, which JSON cannot say: pass `dataclasses.asdict"),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, r"`at` is a datetime.*isoformat"),
        (b"bytes", "is a bytes"),
        (CIRCULAR, r"`\[0\]` contains itself"),
        ({"text": "\ud83d"}, "`text` has half of a surrogate pair"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        dumps(value)


def test_values_come_back() -> None:
    value = {"a": [1, 2.5, None, True, "é\u0000"], "b": 123456789012345678901234567890, "c": ()}
    assert loads(dumps(value)) == {**value, "c": []}


def test_retry_after_is_seconds_or_a_date() -> None:
    assert retry_after_ms(None) is None
    assert retry_after_ms("7") == 7_000
    assert retry_after_ms("soon") is None
    assert retry_after_ms(format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)) == 0


def test_ids_of_one_second_are_neighbours() -> None:
    id, is_repeatable = identity("parts/leaf", None)
    assert is_repeatable
    assert id is not None
    assert re.fullmatch("leaf-[0-9a-f]{36}", id)
    assert (int(time.time()) - int(id[5:9], 16)) & 0xFFFF < 60, "it begins with the second"
    assert identity("parts/leaf", None)[0] != id
