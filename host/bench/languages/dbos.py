"""Measures DBOS: workflows that do nothing, workflows of three steps, and one of many steps.

Arguments: a schema for its tables, which is made and removed, and the sizes: no-ops of one client,
clients, workflows of each client, steps in a row. The variable DBOS_SYSTEM_DATABASE_URL is the address
of the database. Prints the figures as one line of JSON.
"""

import importlib.metadata
import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
from dbos import DBOS

schema, *sizes = sys.argv[1:]
address = os.environ["DBOS_SYSTEM_DATABASE_URL"].replace("postgres://", "postgresql://", 1)
alone, clients, each, long = (int(size) for size in sizes)

DBOS(
    config={
        "name": "bench",
        "system_database_url": address,
        "dbos_system_schema": schema,
        "log_level": "ERROR",
        "run_admin_server": False,
    }
)


@DBOS.step()
def step(number: int) -> int:
    return number


@DBOS.workflow()
def flow(steps: int) -> int:
    for number in range(steps):
        step(number)
    return steps


def timed(steps: int) -> float:
    """Time of one workflow, in microseconds."""
    before = time.perf_counter()
    assert flow(steps) == steps
    return (time.perf_counter() - before) * 1e6


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6


def crowd(steps: int) -> tuple[float, float]:
    """Workflows a second, and CPU time of one in microseconds."""

    def client(_: int) -> None:
        for _ in range(each):
            timed(steps)

    count = clients * each
    cpu_before, before = cpu(), time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    return count / (time.perf_counter() - before), (cpu() - cpu_before) / count


def measured() -> dict[str, float | str]:
    for _ in range(20):
        timed(1)
    latencies = sorted(timed(0) for _ in range(alone))
    rate, noop_cpu = crowd(0)
    three, three_cpu = crowd(3)
    return {
        "version": importlib.metadata.version("dbos"),
        "p50": latencies[len(latencies) // 2],
        "p99": latencies[len(latencies) * 99 // 100],
        "noops": rate,
        "noop_cpu": noop_cpu,
        "three_steps": three,
        "three_steps_cpu": three_cpu,
        "step": timed(long) / long,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


try:
    DBOS.launch()
    print(json.dumps(measured()))
    DBOS.destroy()
finally:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
