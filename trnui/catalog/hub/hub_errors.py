"""What can go wrong with a Hub, each in one clear line with a way out. Pure: a status or an exception in, words out."""

from __future__ import annotations

import errno
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from trnui_runner.common.errors import DataError
from trnui_runner.common.text import one_line

Trouble = Literal[
    "offline", "refused", "unknown-host", "tls", "proxy", "silent", "torn", "token", "missing", "gated", "limited",
    "server", "odd", "disk", "busy",
]  # fmt: skip
# No other request to this Hub will fare better now.
SAME_FOR_ALL: Final = frozenset({"offline", "refused", "unknown-host", "tls", "proxy", "silent", "limited", "server"})


class HubError(DataError):
    """The Hub did not give what was asked for."""

    def __init__(self, kind: Trouble, message: str, remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.kind: Trouble = kind


def offline() -> HubError:
    return HubError("offline", "offline: HF_HUB_OFFLINE is set", "Unset HF_HUB_OFFLINE to ask the Hub.")


def silent(hub: str, seconds: float, at: str = "") -> HubError:
    where = f" while {one_line(at)}" if at else ""
    return HubError(
        "silent",
        f"{_host(hub)} does not answer: nothing came for {seconds:g} s{where}",
        "Try later; hub_timeout_s in the settings allows it more time.",
    )


def torn(hub: str, what: str) -> HubError:
    return HubError(
        "torn", f"{_host(hub)} broke off in the middle of {what}", "Try again: what has come is kept only when whole."
    )


def too_long(hub: str, what: str, limit: int) -> HubError:
    return HubError(
        "odd",
        f"{_host(hub)} answers more than {limit >> 20} MiB for {what}: not read any further",
        "Check HF_ENDPOINT.",
    )


def odd_name(hub: str, what: str, header: str, value: str) -> HubError:
    return HubError(
        "odd",
        f"{_host(hub)} names {what} in a way that no Hub does ({header}: {one_line(value, 60)}): refused",
        "Check HF_ENDPOINT and proxies: a Hub names files by 40 or 64 hexadecimal digits.",
    )


def from_status(status: int, headers: Mapping[str, str], hub: str, what: str) -> HubError:
    """An answer of 400 and above. `headers` with lower-case names; `what` is the thing asked for, in words."""
    code = headers.get("x-error-code", "")
    host = _host(hub)
    if code == "GatedRepo" or (status == 403 and not code):
        return HubError(
            "gated",
            f"{what} is gated: {host} gives it only to those who were granted access (403)",
            "Ask for access on its page; then set hub_token = true in the settings, so that your token is sent.",
        )
    if code in ("RepoNotFound", "RevisionNotFound", "EntryNotFound") or status == 404:
        return HubError(
            "missing",
            f"{host} knows no {what} ({status}), or it is private",
            "Check the name; a private one needs hub_token = true in the settings.",
        )
    if status in (401, 403):
        return HubError(
            "token",
            f"{host} refuses the token sent, or wants one, for {what} ({status})",
            "Log in anew with `hf auth login`, or set hub_token = false in the settings.",
        )
    if status == 429:
        wait = headers.get("retry-after", "")
        told = f"; it asks to wait {wait} s" if wait.isdigit() else ""
        return HubError("limited", f"{host} limits requests (429){told}", "Wait a little, then try again.")
    if status >= 500:
        return HubError("server", f"{host} is in trouble itself ({status}) with {what}", "Try later.")
    return HubError("odd", f"{host} answers {status} for {what}", "Check HF_ENDPOINT and the name.")


def from_exception(error: BaseException, hub: str, what: str) -> HubError:
    """Anything a request or a download raised. Exceptions are told by name, so that no client library is needed here."""
    chain = list(_causes(error))
    for found in chain:
        if isinstance(found, HubError):
            return found
    names = {kind.__name__ for found in chain for kind in type(found).__mro__}
    words = " ".join(str(found) for found in chain)
    host = _host(hub)
    if "HFValidationError" in names:
        return HubError("missing", f"{what}: not a valid Hub id", "A name on the Hub is owner/name.")
    if "OfflineModeIsEnabled" in names:
        return offline()
    if any(isinstance(found, ssl.SSLError) for found in chain) or re.search(r"CERTIFICATE_VERIFY|\[SSL", words):
        why = re.search(r"certificate verify failed: ([^(\[]+)", words)
        return HubError(
            "tls",
            f"{host}: no trusted TLS connection ({why[1].strip() if why else one_line(chain[-1], 80)})",
            "Behind a company proxy: point SSL_CERT_FILE at its CA bundle.",
        )
    if "ProxyError" in names:
        return HubError(
            "proxy", f"the proxy refuses to reach {host}: {one_line(error, 80)}", "Check HTTPS_PROXY and NO_PROXY."
        )
    if re.search(r"Name or service not known|nodename nor servname|Temporary failure in name|getaddrinfo", words):
        return HubError(
            "unknown-host",
            f"{host} cannot be found: no such name, or no network",
            "Check the network, HTTPS_PROXY, HF_ENDPOINT.",
        )
    if "TimeoutException" in names or any(isinstance(found, TimeoutError) for found in chain):
        return HubError(
            "silent",
            f"{host} does not answer about {what}",
            "Try later; hub_timeout_s in the settings allows it more time.",
        )
    if "ConnectError" in names or any(isinstance(found, ConnectionRefusedError) for found in chain):
        return HubError("refused", f"{host} refuses the connection", "Check the network, HTTPS_PROXY, HF_ENDPOINT.")
    if names & {"RemoteProtocolError", "ReadError"} or "Consistency check failed" in words:
        return torn(hub, what)
    for found in chain:
        if isinstance(found, OSError) and found.errno in (
            errno.ENOSPC,
            errno.EDQUOT,
            errno.EROFS,
            errno.EACCES,
            errno.ENOTDIR,
            errno.EPERM,
            errno.ENOENT,
            errno.EISDIR,
        ):
            return HubError(
                "disk",
                f"cannot write {one_line(found.filename or what)}: {found.strerror}",
                "HF_HOME and TRNUI_CACHE_DIR say where files are kept.",
            )
    return HubError(
        "odd",
        f"{host} answered {what} in a way that no Hub does ({type(error).__name__}: {one_line(error, 100)})",
        "Check HF_ENDPOINT and proxies.",
    )


def _host(hub: str) -> str:
    return one_line(hub.partition("://")[2] or hub, 80)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
