"""The runtime of Python modules: CPython, and the contract for the sources that it loads.

componentize-py imports this module and keeps the memory. There are no files afterwards: sources and the standard library
are imported from memory.
"""

# First: it replaces functions that other modules keep.
import segno_files  # isort: skip

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import io
import linecache
import marshal
import os
import sys
import traceback
import zlib
from importlib.resources.abc import Traversable, TraversableResources

from componentize_py_types import Err
from segno_files import files, folders, listed, no_file, opened

# Imported into the memory with which every module begins: most modules use them.
LOADED = """
abc array ast asyncio base64 bisect calendar collections.abc contextlib contextvars copy copyreg csv dataclasses datetime decimal
difflib email.message encodings.ascii encodings.idna encodings.latin_1 encodings.utf_8_sig enum fractions functools graphlib hashlib
heapq hmac html html.entities importlib.resources inspect io ipaddress itertools json keyword linecache locale logging math mimetypes
numbers operator os pathlib pprint queue random re reprlib sched secrets shlex socket statistics string stringprep struct subprocess
tempfile textwrap threading time tokenize tomllib traceback types typing unicodedata urllib.parse urllib.request uuid warnings weakref
xml.etree.ElementTree zlib zoneinfo _strptime
""".split()
# Left out of the standard library: tests, and windows on a screen.
LEFT_OUT = {"test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "__pycache__", "site-packages"}

# Parts of the standard library that CPython for components does not have.
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

NO_FUNCTIONS = (
    "app.py has no `Functions`, which the host calls: `from segno import Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures`"
)

# The compiled modules of the standard library, packed, by path.
standard: dict[str, bytes] = {}


class Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the files that were loaded."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in ABSENT:
            raise ModuleNotFoundError(f"No module named {fullname!r} on a host: {ABSENT[fullname]}", name=fullname)
        name = fullname.rpartition(".")[2]
        namespace = []
        for folder in ["/0", "/1"] if path is None else path:
            base = f"{folder}/{name}"
            for file in (f"{base}/__init__.py", f"{base}.py"):
                if file in files:
                    return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=_within(file))
            if f"{base}.native" in files:
                raise ImportError(files[f"{base}.native"].decode(), name=fullname)
            if base in folders:
                namespace.append(base)
        if namespace:
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = namespace
            return spec
        return None

    def get_filename(self, fullname):
        return sys.modules[fullname].__spec__.origin

    def is_package(self, fullname):
        return self.get_filename(fullname).endswith("/__init__.py")

    def get_source(self, fullname):
        return importlib.util.decode_source(self.get_data(self.get_filename(fullname)))

    def get_code(self, fullname):
        return self.source_to_code(self.get_data(self.get_filename(fullname)), self.get_filename(fullname))

    def exec_module(self, module):
        path = module.__spec__.origin
        exec(self.source_to_code(self.get_data(path), path), module.__dict__)

    def get_data(self, path):
        try:
            return files[str(path)]
        except KeyError:
            raise no_file(path) from None

    def get_resource_reader(self, fullname):
        return Resources(os.path.dirname(self.get_filename(fullname)))


class Standard(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports those modules of the standard library that are not in the memory yet."""

    def find_spec(self, fullname, path=None, target=None):
        base = "/python/" + fullname.replace(".", "/")
        for file in (f"{base}/__init__.py", f"{base}.py"):
            if file in standard:
                return importlib.util.spec_from_file_location(fullname, file, loader=self, submodule_search_locations=_within(file))
        return None

    def exec_module(self, module):
        exec(marshal.loads(zlib.decompress(standard[module.__spec__.origin])), module.__dict__)


class Resources(TraversableResources):
    """The files beside a module, for `importlib.resources`."""

    def __init__(self, folder):
        self.folder = folder

    def files(self):
        return Entry(self.folder)


class Entry(Traversable):
    """A file or folder of the sources."""

    def __init__(self, path):
        self.path = path

    @property
    def name(self):
        return os.path.basename(self.path)

    def is_dir(self):
        return self.path in folders

    def is_file(self):
        return self.path in files

    def iterdir(self):
        return (self.joinpath(name) for name in listed(self.path))

    def joinpath(self, *names):
        return Entry("/".join([self.path, *map(str, names)]))

    def __truediv__(self, name):
        return self.joinpath(name)

    def __str__(self):
        return self.path

    def open(self, mode="r", *arguments, **named):
        return opened(self.path, mode, -1, *arguments, **named)

    def read_bytes(self):
        return sources.get_data(self.path)

    def read_text(self, encoding="utf-8", errors="strict"):
        return self.read_bytes().decode(encoding, errors)


def _within(file):
    return [os.path.dirname(file)] if file.endswith("/__init__.py") else None


sources = Sources()


def _pack(folder):
    for name in sorted(os.listdir(folder)):
        path = f"{folder}/{name}"
        if os.path.isdir(path):
            if name not in LEFT_OUT:
                _pack(path)
        elif name.endswith(".py"):
            with open(path, "rb") as file:
                code = compile(file.read(), path, "exec", dont_inherit=True, optimize=0)
            standard[path] = zlib.compress(marshal.dumps(code), 9)


for _name in LOADED:
    importlib.import_module(_name)
_pack("/python")
# Modules that are imported already are taken from `sys.modules`.
for _module in list(sys.modules.values()):
    standard.pop(getattr(_module, "__file__", None), None)
import wit_world.exports  # noqa: E402
import wit_world.imports  # noqa: E402

for _package in (wit_world.exports, wit_world.imports):
    for _name in sorted(os.listdir(_package.__path__[0])):
        if _name.endswith(".py"):
            importlib.import_module(f"{_package.__name__}.{_name[:-3]}")
sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, sources, Standard()]
sys.path[:] = ["/0", "/1"]
sys.path_importer_cache.clear()
linecache.clearcache()


def _no_source(self, path):
    raise no_file(path)


# The standard library has no sources here: who looks for one, to quote a line, finds none.
importlib._bootstrap_external.FileLoader.get_data = _no_source
# It parses parts of lines, and CPython looks for a file with the lines of what it cannot parse.
traceback._extract_caret_anchors_from_line_segment = lambda segment: None
segno_files.building = False


def _filled():
    """Objects in the holes between those that stay. Modules then get memory behind all of it, and change few of its pages."""
    last = max(map(id, gc.get_objects()))
    filling = []
    while (end := id(block := bytes(1 << 20))) < last:
        filling.append(block)
    del block
    # Small objects have a size of their own, in steps of 8 bytes.
    sizes = (1 << 18, 1 << 16, 1 << 14, 1 << 12, *range(2048, 512, -64), *range(495, 0, -8))
    for new in (*(functools.partial(bytes, size) for size in sizes), object):
        while id(block := new()) < end:
            filling.append(block)
    return filling


# What exists now is never looked at again when memory is collected.
gc.collect()
_filling = _filled()
gc.freeze()


class Loader:
    def load(self, loaded):
        """Imports `segno_entry` of the sources, or `app`."""
        for path, content in loaded:
            folder, _, rest = path.partition("/")
            path = f"/{'0' if folder == 'project' else '1'}/{rest}"
            files[path] = bytes(content)
            while path := path.rpartition("/")[0]:
                folders.add(path)
        name = "segno_entry" if "/0/segno_entry.py" in files else "app"
        segno_files.loading = True
        try:
            # Nobody reads what is printed now: there is no execution yet.
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                module = importlib.import_module(name)
        except BaseException as error:
            raise Err(_told(error)) from None
        finally:
            segno_files.loading = False
        if not hasattr(module, "Functions"):
            raise Err(NO_FUNCTIONS)
        for export in (Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures):
            # A source for an older shim lacks those that came later.
            made = getattr(module, export.__name__, object)()
            for name in dir(made):
                if not name.startswith("_"):
                    setattr(export, name, getattr(made, name))
        gc.collect()
        gc.freeze()


def _told(error):
    """The error with its places in the sources, as Python shows it."""
    frames = traceback.walk_tb(error.__traceback__)
    own = [(frame, line) for frame, line in frames if _is_source(frame.f_code.co_filename)]
    # Frames of the package, which imports the module, explain nothing to an author.
    for at in (0, -1):
        while own and own[at][0].f_code.co_filename.startswith("/1/segno_sdk/"):
            own.pop(at)
    quoted = traceback.StackSummary.extract(own).format() if not isinstance(error, SyntaxError) else []
    lines = ["Traceback (most recent call last):\n", *quoted] if quoted else []
    text = "".join([*lines, *traceback.format_exception_only(error)])
    return text.replace('File "/0/', 'File "').replace('File "/1/', 'File "').strip()


def _is_source(filename):
    return filename.startswith(("/0/", "/1/")) and not filename.startswith("/0/segno_")


class Functions:
    def describe(self):
        return []


class Messages:
    def describe_messages(self):
        return []


class Objects:
    def describe_objects(self):
        return []


class Runs:
    def describe_runs(self):
        return []


class Handlers:
    def describe_handlers(self):
        return []


class Limits:
    def describe_limits(self):
        return []


class Commits:
    def describe_commits(self):
        return []


class Exposures:
    def describe_exposures(self):
        return []
