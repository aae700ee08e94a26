"""Runs the example `order` in three languages on one host, with the payment service of the demo.

    SEGNO=/path/to/segno python3 orders.py [--languages rust,python]

The host is killed while the orders are charged. Each order has to end as its scene says in every language, and the ledger of
the payment service has to have its charge and its refund once.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from host import Host, quoted, wait
from modules import build_module

REPOSITORY = Path(__file__).parent.parent.parent
EXAMPLE = REPOSITORY / "examples/order"
SDK = REPOSITORY / "sdks/typescript"
#: Milliseconds from a decision of the payment service to its answer: the host is killed in between.
PAYMENT_DELAY_MS = 400

HAT = {"sku": "hat", "quantity": 1, "price_cents": 2_500}
GLOVE = {"sku": "glove", "quantity": 2, "price_cents": 900}
SOLD_OUT = {"sku": "sold-out", "quantity": 1, "price_cents": 100}
ORGAN = {"sku": "organ", "quantity": 1, "price_cents": 200_000}


def approve(value: bool, host: Host, id: str) -> None:
    """Settles the approval of an order."""
    host.post(f"/v1/promises/{quoted(f'{id}/p/approval')}/resolve", {"value": value})


def reject(host: Host, id: str) -> None:
    """Rejects the approval of an order."""
    failure = {"code": 403, "message": "not this customer"}
    host.post(f"/v1/promises/{quoted(f'{id}/p/approval')}/reject", {"failure": failure})


def cancel(host: Host, id: str) -> None:
    """Cancels an order."""
    host.post(f"/v1/invocations/{quoted(id)}/cancel", {})


@dataclass(frozen=True)
class Scene:
    """One order: its input, a decision about it, and its end."""

    items: list[dict[str, Any]] = field(default_factory=lambda: [HAT, GLOVE])
    #: Seconds for the approval, if the input has them.
    approve_within_s: int | None = None
    #: Called when the order waits for its approval.
    decide: Callable[[Host, str], None] | None = None
    #: The code of the failure. None if the order is shipped.
    code: int | None = None
    charges: int = 1
    refunds: int = 0


SCENES = {
    "approved": Scene(decide=partial(approve, True)),
    "refused": Scene(decide=partial(approve, False), code=409, refunds=1),
    "rejected": Scene(decide=reject, code=403, refunds=1),
    "cancelled": Scene(decide=cancel, code=499, refunds=1),
    "forgotten": Scene(approve_within_s=1, code=408, refunds=1),
    "too-dear": Scene(items=[ORGAN], code=402, charges=0),
    "sold-out": Scene(items=[HAT, SOLD_OUT], code=409, charges=0),
    "empty": Scene(items=[], code=422, charges=0),
}


@dataclass
class Placed:
    """An order of one language on the host."""

    language: str
    name: str
    payments: str

    @property
    def id(self) -> str:
        """The number of the order, and the id of its invocation."""
        return f"{self.language}-{self.name}"

    @property
    def scene(self) -> Scene:
        """What is to happen to it."""
        return SCENES[self.name]

    def place(self, host: Host) -> None:
        """Starts it."""
        order: dict[str, Any] = {"id": self.id, "items": self.scene.items, "payments": self.payments}
        if self.scene.approve_within_s is not None:
            order["approve_within_s"] = self.scene.approve_within_s
        host.post("/v1/invocations", {"target": f"order-{self.language}/order", "id": self.id, "input": order})

    def end(self, host: Host) -> dict[str, Any]:
        """Decides about it, and waits for its end."""
        if self.scene.decide is not None:
            approval = f"/v1/promises/{quoted(f'{self.id}/p/approval')}"
            wait(f"the approval of {self.id}", lambda: host.exists(approval))
            self.scene.decide(host, self.id)
        return wait(f"the end of {self.id}", lambda: host.ended(self.id))  # type: ignore[no-any-return]

    def differences(self, host: Host) -> list[str]:
        """Ends it, and compares it with its scene."""
        ended, scene = self.end(host), self.scene
        accepted = [entry for entry in ledger(self.payments) if entry["order"] == self.id and entry["accepted"]]
        charges = [entry["charge"] for entry in accepted if entry["kind"] == "charge"]
        refunds = [entry["charge"] for entry in accepted if entry["kind"] == "refund"]
        shipments = [f"parcel-{self.id}/{3 + place}" for place in range(len(scene.items))]
        receipt = {"order": self.id, "charge": "".join(charges), "amount_cents": 4_300, "shipments": shipments}
        compared = {
            "code": ((ended.get("failure") or {}).get("code"), scene.code),
            "output": (ended.get("output"), receipt if scene.code is None else None),
            "number of charges": (len(charges), scene.charges),
            "number of refunds": (len(refunds), scene.refunds),
            "replay": (host.post(f"/v1/invocations/{quoted(self.id)}/replay", {})["verdict"], "identical"),
        }
        return [
            f"{self.id}: its {name} is {json.dumps(found)}, and not {json.dumps(expected)}"
            for name, (found, expected) in compared.items()
            if found != expected
        ]


def ledger(payments: str) -> list[dict[str, Any]]:
    """The entries of the payment service."""
    with urllib.request.urlopen(f"{payments}/ledger", timeout=60) as answer:
        return json.load(answer)["entries"]  # type: ignore[no-any-return]


def project(language: str) -> Path:
    """The project of a language. That in TypeScript is copied below the package, which has installed what it needs."""
    own = EXAMPLE if language == "rust" else EXAMPLE / language
    if language != "typescript":
        return own
    copy = SDK / "build/order"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(own, copy, ignore=shutil.ignore_patterns("node_modules", "build"))
    (copy / "node_modules/@segno").mkdir(parents=True)
    (copy / "node_modules/@segno/sdk").symlink_to(SDK)
    return copy


def run(modules: dict[str, str], segno: str, port: int, folder: Path) -> list[str]:
    """Runs the orders of the modules, by language; what differs."""
    command = [segno, "payments", "--ledger", str(folder / "ledger"), "--delay-ms", str(PAYMENT_DELAY_MS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        payments = service.stdout.readline().strip()
        policy = "".join(f'[order-{language}]\nhttp.allow = ["{payments}"]\n' for language in modules)
        host = Host(segno, port, folder, policy)
        try:
            for language, module in modules.items():
                host.deploy(module, f"order-{language}")
            orders = [Placed(language, name, payments) for language in modules for name in SCENES]
            for order in orders:
                order.place(host)
            wait("a charge", lambda: ledger(payments))
            host.kill()
            host.start()
            with ThreadPoolExecutor(len(orders)) as pool:
                return sum(pool.map(lambda order: order.differences(host), orders), [])
        finally:
            host.kill()
            service.kill()


def main() -> None:
    """Runs everything. Exits with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segno", default=os.environ.get("SEGNO", "segno"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("SEGNO_PORT", "7812")))
    parser.add_argument("--languages", default="typescript,python,rust")
    options = parser.parse_args()
    modules = {language: build_module(project(language), options.segno) for language in options.languages.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        differences = run(modules, options.segno, options.port, Path(folder))
    for difference in differences:
        print(difference)
    print(f"{len(SCENES)} orders in each of {', '.join(modules)}: {len(differences)} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
