"""The command ``segno``, as a program of this platform beside Python's own."""

from __future__ import annotations

import os
import sys
import sysconfig

__all__ = ["find_segno"]


def find_segno() -> str:
    """Returns the path of the program. The variable ``SEGNO_BINARY`` names another one.

    Raises:
        FileNotFoundError: There is none; the message says what to do.
    """
    other = os.environ.get("SEGNO_BINARY")
    if other:
        if not os.path.isfile(other):
            raise FileNotFoundError(f"SEGNO_BINARY names `{other}`, which does not exist")
        return other
    name = "segno" + (sysconfig.get_config_var("EXE") or "")
    user = "osx_framework_user" if sys.platform == "darwin" else f"{os.name}_user"
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user)]
    # `pip install --target DIR` puts programs into DIR/bin.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(
        f"the program `{name}` is not in {', '.join(folders)}: "
        "install segno-cli again, or name a program in SEGNO_BINARY"
    )


def main() -> None:
    """Runs the program with the arguments of this process."""
    try:
        program = find_segno()
    except FileNotFoundError as error:
        sys.exit(f"segno: {error}")
    arguments = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        import subprocess

        sys.exit(subprocess.run(arguments).returncode)
    os.execv(program, arguments)
