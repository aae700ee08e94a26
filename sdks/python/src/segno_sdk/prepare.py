"""The build of a component: loads what functions import later, and explains imports that cannot work.

Only what is loaded while the component is built is in it: there are no files afterwards.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

from .core import defect, guards
from .core.defect import is_own

#: Modules of the standard library that others import when they are first used.
LAZY = (
    "_strptime", "bisect", "calendar", "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_8_sig", "hmac",
    "importlib.resources", "locale", "secrets", "stringprep", "traceback", "unicodedata", "uuid", "zoneinfo",
)  # fmt: skip

#: Packages with native code, and what to use instead.
INSTEAD = {
    "pydantic_core": "pydantic 2 needs it: write dataclasses, or install pydantic 1 without native code (pip install --no-binary pydantic 'pydantic<2')",
    "numpy": "compute with `statistics`, `array` and `math`, or on a server that an activity calls",
    "orjson": "use `json`",
    "ujson": "use `json`",
    "msgspec": "write dataclasses, which Segno checks by their annotations",
    "cryptography": "use `hmac` and `hashlib`, or a server that an activity calls",
    "lxml": "use `xml.etree.ElementTree`",
    "psycopg2": "reach a database through a server with HTTP",
    "grpc": "send requests with `ctx.http`",
}


#: Parts of the standard library that CPython for components does not have.
ABSENT = {
    "_ssl": "the host sends requests and checks certificates, so use `ctx.http` or `segno_sdk.http`",
    "_ctypes": "native code cannot run there",
    "_bz2": "use `zlib`",
    "_lzma": "use `zlib`",
    "_posixsubprocess": "there are no processes",
    "mmap": "read files with `ctx.files`",
    "fcntl": "there is no operating system",
    "termios": "there is no terminal",
    "readline": "there is no terminal",
    "pwd": "there is no operating system",
    "grp": "there is no operating system",
    "resource": "there is no operating system",
}


class NativeImports(importlib.abc.MetaPathFinder):
    """Explains the import of a module that exists as native code only."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in ABSENT:
            raise ModuleNotFoundError(f"No module named {fullname!r} in a component: {ABSENT[fullname]}", name=fullname)
        name = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else list(path):
            found = native_file(str(folder), name)
            if found is None and fullname in INSTEAD and os.path.isdir(os.path.join(folder, name)):
                # Refused as a whole: some of these packages explain a missing part in words that do not fit.
                found = next((file for file in os.listdir(os.path.join(folder, name)) if _NATIVE.search(file)), name)
            if found is not None:
                package = fullname.partition(".")[0]
                instead = INSTEAD.get(package, "use a package in pure Python, or a server that an activity calls")
                raise ImportError(
                    f"the package `{package}` has native code ({found}), which cannot run in a component: {instead}",
                    name=fullname,
                )
        return None


_finder = NativeImports()
_NATIVE = re.compile(r"\.(so|pyd|dylib)$")


def native_file(folder: str, name: str) -> str | None:
    """The file with native code, if the module has no source."""
    try:
        files = os.listdir(folder or ".")
    except OSError:
        return None
    if f"{name}.py" in files or name in files and os.path.isfile(os.path.join(folder, name, "__init__.py")):
        return None
    return next((file for file in files if file.startswith(f"{name}.") and _NATIVE.search(file)), None)


def explain_native_imports() -> None:
    """Explains imports of native code, until what functions import has been loaded."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def load(name: str) -> ModuleType:
    """Imports the author's module, and what its functions import when they are called."""
    explain_native_imports()
    guards.install()
    guards.loading = True
    try:
        module = importlib.import_module(name)
    except Exception as error:
        # Only the author's frames and those below.
        traceback = error.__traceback__
        while traceback is not None and is_own(traceback.tb_frame.f_code.co_filename):
            traceback = traceback.tb_next
        raise error.with_traceback(traceback) from None
    finally:
        guards.loading = False
    load_later_imports()
    return module


def load_later_imports() -> None:
    """Imports what the functions of the modules that are loaded import when they are called."""
    defect.unloaded = {}
    for lazy in LAZY:
        _try_import(lazy)
    seen: set[str] = set()
    while todo := [
        one for one in list(sys.modules.values()) if getattr(one, "__name__", None) not in seen and _is_of_author(one)
    ]:
        for module in todo:
            seen.add(module.__name__)
            for name in later_imports(module):
                _try_import(name)
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _is_of_author(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and file.endswith(".py") and not is_own(file) and "segno_sdk" not in file


def _try_import(name: str) -> None:
    try:
        importlib.import_module(name)
    except Exception as error:
        if defect.unloaded is not None:
            defect.unloaded[name] = str(error)


def later_imports(module: ModuleType) -> Iterator[str]:
    """The names of the modules that the functions of a module import."""
    try:
        with open(module.__file__ or "", encoding="utf-8") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return
    package = module.__package__ or ""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                try:
                    base = importlib.util.resolve_name(base, package) if node.level else base
                except (ImportError, ValueError):
                    continue
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)
