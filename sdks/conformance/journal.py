"""Journals without what differs between any two executions of a program."""

import json
import re
from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]

#: The code of a value that does not fit. The host words it by the JSON schema, the test kits by the types of their language.
MISFIT = 400


def comparable(records: list[Record], id: str, url: str, random: list[str]) -> list[Record]:
    """The records without instants, digests, and the values of the runs that `random` names. The id of
    the execution is `ID` and the address of the server `URL`. Instants in requests count from the record."""
    shown = [renamed(record, id, url) for record in records]
    for record in shown:
        failure = record.get("outcome", {}).get("failure", {})
        if failure.get("code") == MISFIT:
            failure["message"] = "MISFIT"
        request = record.get("request")
        if isinstance(request, dict) and record["kind"] == "command":
            for name in ("until_ms", "start_at_ms"):
                if request.get(name, 0) >= record["at_ms"]:
                    request[name] = f"+{request[name] - record['at_ms']}"
            for value in request.values():
                if isinstance(value, dict) and value.keys() <= {"bytes", "sha256"}:
                    value.pop("sha256", None)
                    # Languages write lengths of time in a plan in their own way.
                    if record.get("name") == "segno:graph":
                        value.pop("bytes", None)
    drawn = {record["index"] for record in shown if record.get("command") == "run" and record.get("name") in random}
    for record in shown:
        if record["kind"] == "notified" and record["index"] in drawn:
            record["outcome"] = "RANDOM"
    hidden = ("seq", "at_ms", "module")
    return in_order(
        [
            {name: value for name, value in record.items() if name not in hidden and value is not None}
            for record in shown
        ]
    )


def in_order(records: list[Record]) -> list[Record]:
    """Sorts results that follow each other by their commands: those that are ready at the same time have no order that all
    executions share."""
    ordered: list[Record] = []
    for record in records:
        place = len(ordered)
        if record["kind"] == "notified":
            while (
                place > 0 and ordered[place - 1]["kind"] == "notified" and ordered[place - 1]["index"] > record["index"]
            ):
                place -= 1
        ordered.insert(place, record)
    return ordered


def renamed(value: Any, id: str, url: str) -> Any:
    """The value with `ID` in place of the id of the execution, and `URL` in place of the address of the server."""
    text = json.dumps(value)
    text = text.replace(url, "URL")
    # Test kits name an object without its module.
    text = text.replace("conformance/", "")
    return json.loads(re.sub(rf"(?<![\w-]){re.escape(id)}(?![\w-])", "ID", text))


def outcome_of(records: list[Record]) -> Any:
    """The outcome in the last record of a journal. None if the execution halted."""
    if not records or records[-1]["kind"] != "finished":
        return None
    return records[-1]["outcome"]


def differences(one: list[Record] | None, other: list[Record] | None) -> Iterator[tuple[int, str, str]]:
    """The places at which two journals differ, and the records there."""
    one, other = one or [], other or []
    for place in range(max(len(one), len(other))):
        left = one[place] if place < len(one) else None
        right = other[place] if place < len(other) else None
        if left != right:
            yield (
                place,
                json.dumps(left, ensure_ascii=False, sort_keys=True),
                json.dumps(right, ensure_ascii=False, sort_keys=True),
            )
