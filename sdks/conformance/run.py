"""Runs each program in three languages, in the test kit and on a host, and compares the journals with those that are kept.

    SEGNO=/path/to/segno python3 run.py [--languages rust,python] [--native | --host] [--write] [PROGRAM…]

`scenarios.json` has what happens to each program; `journals/PROGRAM.json` what its journals have to be. `--native` leaves out
the host, `--host` the test kits. `--write` keeps the journals that the host has of the first of the languages.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from executions import run_all
from host import Host
from journal import comparable
from modules import PYTHON, build_module
from shop import Shop
from suite import HERE, Result, Suite

LANGUAGES = ("typescript", "python", "rust")
CARGO = ["--quiet", "--package", "conformance", "--example", "native"]
#: The command that runs programs in the test kit of a language.
NATIVE = {
    "typescript": ["node", "native.mjs"],
    "python": [str(PYTHON), "native.py"],
    "rust": ["cargo", "run", *CARGO, "--"],
}


def run_natively(language: str, suite: Suite) -> None:
    """Runs all programs in the test kit of a language."""
    if language == "typescript":
        subprocess.run([*NATIVE[language], "--build"], cwd=HERE / language, check=True)
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [*NATIVE[language], str(HERE / "scenarios.json"), file.name, *suite.programs]
        subprocess.run(command, cwd=HERE / language, check=True)
        given = json.load(file)
    for name, scenario in suite.programs.items():
        one, random = given[name], scenario.get("random", [])
        journals = {
            id: comparable(records, "ID", "http://shop.test", random) for id, records in one.get("journals", {}).items()
        }
        result = Result(journals, one.get("answers", []), one.get("halted_at"), one.get("error"), one.get("streams"))
        # A test in Rust has no journal of a defect.
        ends_early = language == "rust" and "halts" in scenario
        suite.check(name, language, "test kit", result, ends_early)


def policy(languages: list[str], folder: Path, settings: dict[str, Any]) -> str:
    """The policy file: all modules may reach the server, and have the same settings, secrets and files."""
    for table, values in settings.items():
        (folder / table).mkdir()
        for name, value in values.items():
            (folder / table / Path(name).name).write_text(value)
    env = ", ".join(f"{name} = {json.dumps(value)}" for name, value in settings["env"].items())
    secrets = ", ".join(f'{name} = {{ file = "{folder / "secrets" / name}" }}' for name in settings["secrets"])
    lines = [
        'http.allow = ["http://127.0.0.1:*"]',
        f'dirs = [{{ host = "{folder / "files"}", guest = "/in" }}]',
        f"env = {{ {env} }}",
        f"secrets = {{ {secrets} }}",
    ]
    return "\n".join(line for language in languages for line in (f"[conformance-{language}]", *lines)) + "\n"


def run_on_host(suite: Suite, languages: list[str], segno: str, port: int) -> None:
    """Builds and deploys the modules, and runs all programs on one host."""
    shop = Shop()
    with tempfile.TemporaryDirectory() as folder:
        host = Host(segno, port, Path(folder), policy(languages, Path(folder), suite.settings))

        def deploy(language: str) -> None:
            module = build_module(HERE / language, segno)
            report(f"built: {language}")
            host.deploy(module, f"conformance-{language}")
            report(f"deployed: {language}")

        try:
            with ThreadPoolExecutor(len(languages)) as pool:
                list(pool.map(deploy, languages))
            run_all(host, suite, languages, shop)
        finally:
            host.kill()


BEGAN = time.monotonic()


def report(done: str) -> None:
    """Prints a step with the time since the start."""
    print(f"{time.monotonic() - BEGAN:6.1f} s  {done}", flush=True)


def main() -> None:
    """Runs everything. Exits with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segno", default=os.environ.get("SEGNO", "segno"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("SEGNO_PORT", "7812")))
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--native", action="store_true", help="only in the test kits")
    parser.add_argument("--host", action="store_true", help="only on the host")
    parser.add_argument("--write", action="store_true", help="keep the journals")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    suite, languages = Suite(options.programs), options.languages.split(",")
    if not options.native:
        run_on_host(suite, languages, options.segno, options.port)
        report("run on the host")
    if options.write:
        for name in suite.programs:
            suite.keep(name, suite.hosted[name, languages[0]])
    for (name, language), found in suite.hosted.items():
        suite.check(name, language, "host", found)
    if not options.host:
        for language in languages:
            run_natively(language, suite)
            report(f"run in the test kit: {language}")
    for name, differences in suite.differing.items():
        print("\n    ".join([f"{name} DIFFERS", *differences]))
    count, names = len(suite.programs), " and ".join(languages)
    print(f"{count - len(suite.differing)} of {count} programs are the same in {names}")
    sys.exit(1 if suite.differing else 0)


if __name__ == "__main__":
    main()
