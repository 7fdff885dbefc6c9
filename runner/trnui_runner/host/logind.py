"""Whether processes survive the user's last logout: systemd may kill them, and a detached run with them."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from pathlib import Path

from trnui_runner.common.subprocesses import ask

SYSTEMD = Path("/run/systemd/system")


@dataclass(frozen=True)
class Sessions:
    """`survive`: None where it cannot be told."""

    survive: bool | None
    words: str


def sessions() -> Sessions:
    """Never raises; two quick questions to systemd where it runs."""
    if not SYSTEMD.is_dir():
        return Sessions(None, "no systemd here: runs survive a logout, as far as can be told")
    kill = ask("busctl", "get-property", "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
               "KillUserProcesses", timeout=3)  # fmt: skip
    linger = ask("loginctl", "show-user", _user(), "--property=Linger", timeout=3)
    return told(kill.out.strip(), linger.out.strip())


def told(kill: str, linger: str) -> Sessions:
    """From `b true` and `Linger=yes` as they are printed."""
    if linger == "Linger=yes":
        return Sessions(True, "runs live on after logout (linger is on)")
    if kill == "b false":
        return Sessions(True, "runs live on after logout (KillUserProcesses=no)")
    if kill == "b true":
        return Sessions(
            False, "runs end with your last logout (KillUserProcesses=yes): `loginctl enable-linger` keeps them"
        )
    return Sessions(None, "whether runs live on after logout cannot be told")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "self"
