"""Writes `zones.txt`: when cron expressions occur in three zones over two years, as Python's `zoneinfo` has it.

    python3 zones.py > zones.txt

It walks over every minute of the local calendar, which knows no leaps, and asks `zoneinfo` for the instant: `fold=0`
is the first of two, and a reading that does not exist is taken to the first instant after the leap.
"""
from datetime import datetime, timedelta, timezone
from itertools import groupby
from zoneinfo import ZoneInfo

FROM, TO = datetime(2026, 1, 1), datetime(2028, 1, 1)
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
# Lord Howe puts its clock forward and back by half an hour, at 2 o'clock.
CRONS = [
    ("30 2 * * *", lambda at: (at.hour, at.minute) == (2, 30)),
    ("15 1 * * *", lambda at: (at.hour, at.minute) == (1, 15)),
    ("45 1 * * *", lambda at: (at.hour, at.minute) == (1, 45)),
    ("0 2,3 * * SUN", lambda at: at.hour in (2, 3) and at.minute == 0 and at.weekday() == 6),
    ("*/10 1-3 * * SUN", lambda at: at.hour in (1, 2, 3) and at.minute % 10 == 0 and at.weekday() == 6),
    ("0 */6 * * *", lambda at: at.hour % 6 == 0 and at.minute == 0),
    ("59 23 31 * *", lambda at: (at.day, at.hour, at.minute) == (31, 23, 59)),
]


def is_valid(reading, zone):
    instant = reading.replace(tzinfo=zone).astimezone(timezone.utc)
    return instant.astimezone(zone).replace(tzinfo=None) == reading


def instant(reading, zone):
    while not is_valid(reading, zone):
        reading += timedelta(minutes=1)
        reading = reading.replace(second=0)
    return int(reading.replace(tzinfo=zone, fold=0).timestamp())


print("# Written by zones.py: zone|cron|seconds to begin at|the first instant in seconds, and how long after it the others are, as LENGTH*COUNT")
for name in ZONES:
    zone = ZoneInfo(name)
    begin = instant(FROM, zone) - 1
    for text, matches in CRONS:
        found, at = [], FROM
        while at < TO:
            if matches(at):
                found.append(instant(at, zone))
            at += timedelta(minutes=1)
        found = sorted(set(found))
        steps = groupby(later - earlier for earlier, later in zip(found, found[1:]))
        lengths = " ".join(f"{length}*{len(list(same))}" for length, same in steps)
        print(f"{name}|{text}|{begin}|{found[0]}|{lengths}")
