"""Lists the files of a Python module: those of the project and of packages that `app.py` imports.

    python collect.py FOLDER MODULE…

Run by `segno build` with the interpreter of the project's environment, whose import path finds the packages. Writes JSON to
standard output: `files`, pairs of the path in the module and the path of the file, and `texts`, pairs of a path in the module and
its content, which says why a module with native code cannot be imported. What is wrong is said on standard error, by file and
line of the project. The sources are read, not executed.
"""

import ast
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections import deque

# Packages with native code, and what to use instead.
INSTEAD = {
    "pydantic_core": "pydantic 2 needs it: write dataclasses, or install pydantic 1 without native code (pip install --no-binary pydantic 'pydantic<2')",
    "numpy": "compute with `statistics`, `array` and `math`, or on a server that an activity calls",
    "pandas": "compute on a server that an activity calls",
    "orjson": "use `json`",
    "ujson": "use `json`",
    "msgspec": "write dataclasses, which Segno checks by their annotations",
    "cryptography": "use `hmac` and `hashlib`, or a server that an activity calls",
    "bcrypt": "use `hashlib`, or a server that an activity calls",
    "lxml": "use `xml.etree.ElementTree`",
    "psycopg2": "reach a database through a server with HTTP",
    "grpc": "send requests with `ctx.http`",
}
OTHERWISE = "use a package in pure Python, or a server that an activity calls"

# Modules of the standard library that are of no use on a host.
REFUSED = {
    "ssl": "the host sends requests and checks certificates: use `ctx.http` or `segno_sdk.http`",
    "ctypes": "native code cannot run there",
    "multiprocessing": "there are no processes: use `asyncio.gather` over calls of activities",
    "tkinter": "there is no screen",
    "curses": "there is no terminal",
    "fcntl": "there is no operating system",
    "mmap": "read files with `ctx.files`",
    "bz2": "use `zlib`",
    "lzma": "use `zlib`",
}

# Newer than some interpreters that run this.
STANDARD = {*sys.stdlib_module_names, "annotationlib", "compression", "tomllib", "wit_world", "componentize_py_types"}
NATIVE = tuple(importlib.machinery.EXTENSION_SUFFIXES)
# Files of a package that nobody reads while it runs.
USELESS = (".py", ".pyc", ".pyi", ".pyx", ".pxd", ".c", ".h", ".typed", *NATIVE)
LARGEST_DATA = 1 << 20


def fail(text):
    sys.stderr.write(text.rstrip() + "\n")
    sys.exit(1)


class Import:
    """An import of a source: the names that it may load, the place, and whether it may fail."""

    def __init__(self, names, place, required):
        self.names = names
        self.place = place
        self.required = required


class Visitor(ast.NodeVisitor):
    """The imports of a source. Those in `try` and in functions may fail, those for type checkers do not happen."""

    def __init__(self, package, shown):
        self.package = package
        self.shown = shown
        self.required = True
        self.found = []

    def optional(self, nodes):
        before, self.required = self.required, False
        for node in nodes:
            self.visit(node)
        self.required = before

    def visit_Try(self, node):
        goes_on = any(not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
        self.optional(node.body if goes_on else [])
        for part in [*([] if goes_on else node.body), *node.orelse, *node.finalbody]:
            self.visit(part)
        self.optional(node.handlers)

    visit_TryStar = visit_Try

    def visit_If(self, node):
        if ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for part in node.orelse:
                self.visit(part)
        else:
            # What holds here may not hold on a host.
            self.optional([*node.body, *node.orelse])

    def visit_FunctionDef(self, node):
        self.optional(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def add(self, node, names):
        self.found.append(Import(names, f"{self.shown}:{node.lineno}", self.required))

    def visit_Import(self, node):
        for alias in node.names:
            self.add(node, [alias.name])

    def visit_ImportFrom(self, node):
        base = node.module or ""
        if node.level:
            try:
                base = importlib.util.resolve_name("." * node.level + base, self.package)
            except ImportError:
                return
        # A name is a module or something in one.
        self.add(node, [base, *(f"{base}.{alias.name}" for alias in node.names if alias.name != "*")])


class Collector:
    """Follows the imports of the project."""

    def __init__(self, folder):
        self.folder = os.path.realpath(folder)
        # Paths of files by the path in the module.
        self.files = {}
        self.texts = {}
        # Modules that were followed: 1 if one is required, 0 if it may be missing.
        self.seen = {}
        self.specs = {}
        # The place in the project that imports a package, by the package.
        self.origins = {}

    def spec(self, name):
        """The file or folders of a module, without importing it. `None` if there is no such module."""
        if name in self.specs:
            return self.specs[name]
        parent, _, _ = name.rpartition(".")
        path = None
        if parent:
            above = self.spec(parent)
            if above is None or above.submodule_search_locations is None:
                self.specs[name] = None
                return None
            # The path of a namespace computes itself from modules that are imported, and none is.
            path = getattr(above.submodule_search_locations, "_path", above.submodule_search_locations)
        found = None
        for finder in sys.meta_path:
            if finder in (importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter) or type(finder).__module__ == "_distutils_hack":
                continue
            try:
                found = finder.find_spec(name, path)
            except Exception:
                # A namespace wants its parent to be imported.
                found = self.namespace(name, path)
            if found is not None:
                break
        self.specs[name] = found
        return found

    def namespace(self, name, path):
        last = name.rpartition(".")[2]
        folders = [os.path.join(one, last) for one in path or [] if os.path.isdir(os.path.join(one, last))]
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True) if folders else None
        if spec is not None:
            spec.submodule_search_locations = folders
        return spec

    def shadow(self, top):
        """The file of the project with the name of a module of the standard library."""
        found = (name for name in (f"{top}.py", f"{top}/__init__.py") if os.path.isfile(os.path.join(self.folder, name)))
        return next(found, None) if top in STANDARD else None

    def is_of_project(self, file):
        return os.path.realpath(file).startswith(self.folder + os.sep) and "site-packages" not in file

    def follow(self, modules):
        # What must be there comes first: a source that is reached both ways is required.
        required, optional = deque((module, None) for module in modules), deque()
        while required or optional:
            is_required = bool(required)
            name, place = (required or optional).popleft()
            if self.seen.get(name, is_required - 1) >= is_required:
                continue
            self.seen[name] = int(is_required)
            for found in self.imports(name, place, is_required):
                queue = required if is_required and found.required else optional
                first, *rest = found.names
                queue.append((first, found.place))
                for one in rest:
                    # A name in a package is often a module.
                    if self.spec(one) is not None:
                        queue.append((one, found.place))

    def imports(self, name, place, required):
        """Adds the module of a name. Returns the imports of its source."""
        found = []
        parent = name.rpartition(".")[0]
        if parent:
            found.append(Import([parent], place, True))
        top = name.partition(".")[0]
        if top in STANDARD:
            if self.shadow(top) and place and self.of_author(place):
                fail(f"{place}: `{self.shadow(top)}` has the name of a module of Python, which is loaded instead of it: rename it")
            if top in REFUSED and required and place and self.of_author(place):
                fail(f"{place}: `{top}` cannot work on a host: {REFUSED[top]}")
            if top == "zoneinfo" and self.spec("tzdata") is not None:
                found.append(Import(["tzdata"], place, False))
            return found
        spec = self.spec(name)
        if spec is None:
            if required and place and "." not in name:
                fail(self.missing(name, place))
            return found
        file = spec.origin
        if file is None or spec.submodule_search_locations and not os.path.isfile(file):
            return found
        if file.endswith(NATIVE):
            said = f"the package `{top}` has native code ({os.path.basename(file)}), which cannot run on a host: {INSTEAD.get(top, OTHERWISE)}"
            if required:
                fail(f"{self.author_place(name) or place}: {said}")
            self.texts[f"packages/{name.replace('.', '/')}.native"] = said
            return found
        if not file.endswith(".py"):
            return found
        is_package = file.endswith("__init__.py")
        of_project = self.is_of_project(file)
        if required and name in INSTEAD and is_package and has_native_code(os.path.dirname(file)):
            fail(f"{self.author_place(name) or place}: the package `{name}` has native code, which cannot run on a host: {INSTEAD[name]}")
        relative = name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
        self.files[f"{'project' if of_project else 'packages'}/{relative}"] = file
        if not of_project and is_package and "." not in name:
            self.add_data(name, os.path.dirname(file))
        shown = os.path.relpath(file, self.folder) if of_project else relative
        with open(file, "rb") as source:
            text = source.read()
        try:
            tree = ast.parse(text, filename=shown)
        except SyntaxError as error:
            if not required:
                return found
            fail(_shown_syntax_error(error, shown, text))
        package = name if is_package else parent
        visitor = Visitor(package, shown)
        visitor.visit(tree)
        for one in visitor.found:
            for imported in one.names:
                origin = one.place if of_project else self.author_place(name)
                self.origins.setdefault(imported.partition(".")[0], origin)
        return found + visitor.found

    def author_place(self, name):
        return self.origins.get(name.partition(".")[0])

    def of_author(self, place):
        return os.path.isfile(os.path.join(self.folder, place.rpartition(":")[0]))

    def missing(self, name, place):
        where = f"{self.author_place(name) or place}"
        if self.of_author(where):
            return f"{where}: there is no module `{name}`: is it misspelled, or not installed in `.venv` (.venv/bin/pip install …)?"
        return f"{where}: the package that is imported here needs `{name}`, which is not installed in `.venv`"

    def add_data(self, package, folder):
        """Adds the files beside the sources of a package, which it may read with `importlib.resources`."""
        for path, inside, names in os.walk(folder):
            inside[:] = sorted(one for one in inside if one not in ("__pycache__", "tests", "test"))
            found = [name for name in names if not name.endswith(USELESS) and os.path.getsize(os.path.join(path, name)) <= LARGEST_DATA]
            # Without it the folder would be no package, whose files are found.
            found += ["__init__.py"] if found and "__init__.py" in names else []
            for name in found:
                file = os.path.join(path, name)
                self.files[f"packages/{package}/{os.path.relpath(file, folder)}".replace(os.sep, "/")] = file


def has_native_code(folder):
    return any(name.endswith(NATIVE) for _, _, names in os.walk(folder) for name in names)


def _shown_syntax_error(error, shown, text):
    lines = [f'  File "{shown}", line {error.lineno}']
    source = text.decode(errors="replace").splitlines()[(error.lineno or 1) - 1 :][:1]
    if source:
        lines.append(f"    {source[0].strip()}")
        if error.offset:
            indent = len(source[0]) - len(source[0].lstrip())
            lines.append(" " * (3 + max(1, error.offset - indent)) + "^")
    return "\n".join([*lines, f"{type(error).__name__}: {error.msg}"])


def main(folder, *modules):
    sys.path.insert(0, os.path.realpath(folder))
    collector = Collector(folder)
    collector.follow(modules)
    json.dump({"files": sorted(collector.files.items()), "texts": sorted(collector.texts.items())}, sys.stdout)


main(*sys.argv[1:])
