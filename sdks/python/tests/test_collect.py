"""The sources that `segno build` takes into a module, and the imports that it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "host/build/src/script"


def collected(folder: Path, *modules: str) -> tuple[dict[str, str], dict[str, str]]:
    """The paths of files by their paths in the module, and the reasons why native modules are missing."""
    found = run(folder, *modules)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    return dict(told["files"]), dict(told["texts"])


def run(folder: Path, *modules: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(SCRIPTS / "collect.py"), ".", *(modules or ("app",))]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def refused(folder: Path, source: str, **others: str) -> str:
    """The complaint about `app.py`."""
    write(folder, app=source, **others)
    found = run(folder)
    assert found.returncode == 1, found.stdout
    return found.stderr.strip()


def write(folder: Path, **sources: str) -> None:
    for name, text in sources.items():
        path = folder / f"{name.replace('__slash__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_only_what_is_imported_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        app="import shop.prices\nfrom shop import stock, total\n\ndef later():\n    import late\n",
        shop__slash____init__="from .sums import total",
        shop__slash__prices="",
        shop__slash__stock="",
        shop__slash__sums="total = 1",
        shop__slash__unused="",
        late="",
        test_app="import pytest",
    )
    files, _ = collected(tmp_path)
    shop = [f"project/shop/{name}.py" for name in ("__init__", "prices", "stock", "sums")]
    assert sorted(files) == ["project/app.py", "project/late.py", *shop]


def test_packages_bring_their_data_and_no_tests(tmp_path: Path) -> None:
    write(tmp_path, app="import zoneinfo, yaml, segno_sdk.testing")
    files, native = collected(tmp_path, "app", "segno_sdk.component")
    assert "packages/segno_sdk/core/waits.py" in files and "packages/yaml/loader.py" in files
    assert not any("pytest" in name for name in files)
    # PyYAML works without it.
    assert set(native) in ({"packages/yaml/_yaml.native"}, set())


def test_the_files_of_a_package_are_found_without_importing_it(tmp_path: Path) -> None:
    package = tmp_path / "zones"
    (package / "europe").mkdir(parents=True)
    for name in ("__init__.py", "europe/__init__.py", "europe/Berlin", "notes.pyc"):
        (package / name).write_text("raise SystemExit")
    (tmp_path / "project").mkdir()
    write(tmp_path / "project", app="import zones")
    # As an environment does.
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv[1:] = ['.', 'app']\n"
        f"exec(compile(open({str(SCRIPTS / 'collect.py')!r}).read(), 'collect.py', 'exec'))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path / "project", capture_output=True, text=True, check=True
    )
    files = dict(json.loads(found.stdout)["files"])
    zones = ["packages/zones/__init__.py", "packages/zones/europe/Berlin", "packages/zones/europe/__init__.py"]
    assert sorted(files) == [*zones, "project/app.py"]


def test_what_type_checkers_do_not_read_is_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        app="import typing\nif not typing.TYPE_CHECKING:\n    import prices\nif typing.TYPE_CHECKING:\n    import nowhere\nelse:\n    import stock\n",
        prices="",
        stock="",
    )
    assert sorted(collected(tmp_path)[0]) == ["project/app.py", "project/prices.py", "project/stock.py"]


def test_what_is_imported_for_type_checkers_is_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        app="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import nowhere\ntry:\n    import missing\nexcept ImportError:\n    missing = None\n",
    )
    assert sorted(collected(tmp_path)[0]) == ["project/app.py"]


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("\nimport nowhere", "app.py:2: there is no module `nowhere`: is it misspelled, or not installed"),
        ("import ssl", "app.py:1: `ssl` cannot work on a host: the host sends requests"),
        (
            "import multiprocessing.pool",
            "app.py:1: `multiprocessing` cannot work on a host: there are no processes",
        ),
        (
            "try:\n    import nowhere\nexcept ImportError as error:\n    raise error",
            "app.py:2: there is no module `nowhere`",
        ),
        ("x = 1\ndef f(:\n    pass", '  File "app.py", line 2\n    def f(:\n          ^\nSyntaxError: invalid syntax'),
    ],
)
def test_an_import_that_cannot_work_is_refused_by_its_line(tmp_path: Path, source: str, complaint: str) -> None:
    assert complaint.strip() in refused(tmp_path, source)


def test_a_file_with_the_name_of_a_module_of_python_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path, "import queue", queue="").startswith(
        "app.py:1: `queue.py` has the name of a module of Python"
    )


def test_native_code_is_refused_where_the_project_imports_it(tmp_path: Path) -> None:
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast/_core.cpython-311-x86_64-linux-gnu.so").touch()
    (tmp_path / "fast/_core.abi3.so").touch()
    write(tmp_path, fast__slash____init__="from . import _core")
    assert "app.py:1: the package `fast` has native code (_core." in refused(tmp_path, "import fast")
    write(tmp_path, fast__slash____init__="try:\n    from . import _core\nexcept ImportError:\n    pass")
    write(tmp_path, app="import fast")
    _, native = collected(tmp_path)
    assert "which cannot run on a host: use a package in pure Python" in native["packages/fast/_core.native"]
