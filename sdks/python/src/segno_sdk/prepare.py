"""The loading of a module: imports what functions import later too, so that no instance does it again."""

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

from .core import defect
from .core.defect import is_own

#: Modules of the standard library that others import when they are first used.
LAZY = (
    "_strptime", "bisect", "calendar", "encodings.ascii", "encodings.idna", "encodings.latin_1", "encodings.utf_8_sig", "hmac",
    "importlib.resources", "locale", "secrets", "stringprep", "traceback", "unicodedata", "uuid", "zoneinfo",
)  # fmt: skip

def load(name: str) -> ModuleType:
    """Imports the author's module, and what its functions import when they are called."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        # Only the author's frames and those below.
        traceback = error.__traceback__
        while traceback is not None and is_own(traceback.tb_frame.f_code.co_filename):
            traceback = traceback.tb_next
        raise error.with_traceback(traceback) from None
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
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError, ValueError):
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
