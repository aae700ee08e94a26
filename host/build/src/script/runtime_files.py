"""The files of a module, in memory: what code of the module sees when it opens and lists files.

Paths of sources are answered from memory always; while sources are loaded, there are no other files.
"""

import builtins
import io
import os
import stat

# Contents by path, as tracebacks show it: files of the project in `/0/`, those of packages in `/1/`.
files: dict[str, bytes] = {}
folders: set[str] = set()
# Folders that exist in memory only: sources, and those of the standard library, of which there are no sources any more.
IN_MEMORY = ("/0/", "/1/", "/python/", "/bundled/", "/world/")
# True while sources are loaded. Then there are no other files: whoever opens one holds a handle of the host.
loading = False
# True until the memory of the runtime is kept. Until then the standard library has files.
building = True


def in_memory(path):
    """The path of a file or folder that is answered from memory. `None` if the host answers."""
    if isinstance(path, int):
        return None
    path = os.fsdecode(path)
    if not loading and (building or not path.startswith(IN_MEMORY)):
        return None
    return os.path.normpath(path if path.startswith("/") else f"/0/{path}")


def answering(original, answer):
    """`original`, with answers from memory for paths of sources."""

    def answered(path=".", *arguments, **named):
        found = in_memory(path)
        return original(path, *arguments, **named) if found is None else answer(found, *arguments, **named)

    return answered


def no_file(path):
    return FileNotFoundError(2, "No such file or directory", path)


def stated(path, *arguments, **named):
    if path in files:
        return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, len(files[path]), 0, 0, 0))
    if path in folders:
        return os.stat_result((stat.S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    raise no_file(path)


def listed(path):
    if path not in folders:
        raise no_file(path)
    start = f"{path}/"
    return sorted({one[len(start) :].partition("/")[0] for one in (*files, *folders) if one.startswith(start)})


def accessible(path, *arguments, **named):
    return path in files or path in folders


def opened(path, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *arguments, **named):
    if any(letter in mode for letter in "wax+"):
        raise PermissionError(13, "the sources of a module cannot be changed", path)
    if path not in files:
        raise no_file(path)
    data = io.BytesIO(files[path])
    return data if "b" in mode else io.TextIOWrapper(data, encoding, errors, newline)


# Before other modules are imported, which keep the functions that they find.
builtins.open = io.open = answering(builtins.open, opened)
os.stat = answering(os.stat, stated)
os.lstat = answering(os.lstat, stated)
os.listdir = answering(os.listdir, listed)
os.access = answering(os.access, accessible)
