"""What ends a command: our exceptions, each with words for a person and a way out, and the documented exit codes."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of every command (README, "Exit codes")."""

    OK = 0  # a run: PASS
    FAILED = 1  # run FAIL or LOST, query error, red preflight
    USAGE = 2  # wrong options, unknown model
    NO_DATA = 3  # dataset not available
    NO_DEVICE = 4  # device absent or busy
    UNCHECKED = 5  # ran, but UNCHECKED or NOT COMPARABLE
    TIMEOUT = 124
    INTERRUPTED = 130  # CANCELLED, Ctrl-C


class UserError(Exception):
    """Something the user can mend. `message` names the file, row, key or command; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str = "", code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.message, self.remedy, self.code = message, remedy, code

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message


class UsageError(UserError):
    """The command line, a setting or a name is wrong: exit code 2."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.USAGE)


class DataError(UserError):
    """The dataset cannot be had: exit code 3."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.NO_DATA)


class DeviceError(UserError):
    """No device of the wanted kind here, or its cores are held by others: exit code 4."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy, Exit.NO_DEVICE)
