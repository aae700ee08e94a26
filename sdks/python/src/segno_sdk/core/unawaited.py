"""Commands that nobody awaits. A workflow that lacks an `await` ends without their results, and its end cancels them."""

from .failure import Failure


class UnawaitedCommands:
    """The commands of one execution whose futures nobody has looked at."""

    def __init__(self) -> None:
        self._commands: dict[int, tuple[str, Failure | None]] = {}

    def add(self, command: int, name: str) -> None:
        """Keeps a command, with its name in warnings, until somebody looks at its future."""
        self._commands[command] = name, None

    def discard(self, command: int) -> None:
        """The command is awaited, or given up on purpose."""
        self._commands.pop(command, None)

    def complete(self, command: int, failure: Failure | None) -> None:
        """The command ended. Only a failure is worth a warning."""
        if failure is None:
            self.discard(command)
        elif command in self._commands:
            name, _ = self._commands[command]
            self._commands[command] = name, failure

    def warnings(self) -> list[str]:
        """A sentence for each command that failed, and for each that is open at the end."""
        return [
            f"nobody awaited {name} (command {command}), "
            + ("and the workflow ends without it" if failure is None else f"which failed: {failure}")
            + ": write `await`"
            for command, (name, failure) in self._commands.items()
        ]
