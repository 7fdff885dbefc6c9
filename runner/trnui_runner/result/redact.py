"""Takes out of a text what its owner would not publish: tokens, account and instance ids, host names, home folders, addresses.

The same secret gets the same stand-in (`<ip-1>`), so that a reader can still tell two peers apart.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

_TOKENS: Final = (
    r"\bhf_(?:oauth_)?[A-Za-z0-9]{16,}",  # Hugging Face
    r"\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}\b",  # AWS keys
    r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
    r"\bsk-[A-Za-z0-9_-]{20,}|\b[srp]k_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9]{16,}",  # OpenAI and kin, Stripe
    r"\bnpm_[A-Za-z0-9]{20,}|\bpypi-[A-Za-z0-9_-]{20,}|\bdckr_pat_[\w-]{16,}|\bAIza[\w-]{30,}|\bya29\.[\w-]{16,}|\bnvapi-[\w-]{16,}",
    r"(?<=hooks\.slack\.com/)[\w/-]{8,}|(?<=discord\.com/api/webhooks/)[\w/-]{8,}|\bSG\.[\w-]{16,}\.[\w-]{16,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",  # JSON web tokens
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
)
_TOKEN = re.compile("|".join(_TOKENS), re.S)
# A name that says secret, then its value.
_NAMED = re.compile(
    r"""(?ix)
    ( (?<![\w.-]) [\w.-]{0,48}? (?: token | secret | passw(?:or)?d | passwd | passphrase | (?<![a-z]) (?: pass | pwd? )
      | api[_-]?key | auth[_-]?key | private[_-]?key | access[_-]?key(?:[_-]?id)? | credential s? | signature | (?<=[xX]-) [\w-]{0,24}? auth (?:orization)? (?:-key)? )
      ["']? \s* (?: = | : ) \s* ["']? )
    ( (?: bearer \s+ )? [^\s"'&,;<>}\])]{6,} )
    """
)
# The same as an option of a command: `--token VALUE`, `-p VALUE` is nobody's to know.
_OPTION = re.compile(
    r"""(?ix) ( (?<!\S) --? [\w-]{0,32}? (?: token | secret | passw(?:or)?d | passphrase | (?<=-) (?:pass|pwd?) | api-?key | auth | credentials? ) \s+ ["']? )
    ( (?!-) [^\s"']{6,} )"""
)
_AUTHORIZATION = re.compile(r"(?i)(\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?)(?!(?:bearer|basic)\b)(\S{6,})")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}")
_URL_LOGIN = re.compile(r"(?<=://)(?!git@)[^/\s@\"'<>]+(?=@)")  # user:password@, TOKEN@
_QUERY = re.compile(
    r"(?i)([?&](?:X-Amz-[\w-]+|X-Goog-[\w-]+|Policy|Signature|Key-Pair-Id|AWSAccessKeyId|sig|token|Expires)=)[^&\s\"']+"
)
_ACCOUNT = re.compile(
    r"(?i)(arn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}\b|\b\d{12}(?=\.dkr\.ecr\.)|(\baccount[\w ]{0,6}[\"']?\s*[:=]?\s*[\"']?)\d{12}\b"
    r"|(?<=[a-z0-9]-)\d{12}(?=[-/.\s]|$)"
)
_CLOUD_ID = re.compile(r"\b(?:i|vpc|subnet|eni|sg|ami|vol|snap|eipalloc|fs)-[0-9a-f]{8,17}\b")
_CLOUD_HOST = re.compile(
    r"\b(?:ip|ec2)-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}(?:\.[\w-]{1,63}){0,6}|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.(?:internal|local|lan|corp|localdomain|amazonaws\.com)\b",
    re.I,
)
_PUBLIC = ("s3.amazonaws.com", "pip.repos.neuron.amazonaws.com", "apt.repos.neuron.amazonaws.com")
_HOME = re.compile(r"(?<![\w.])/(?:home|Users)/[^/\s:\"'<>|]+|(?<![\w./])/root(?=[/\s:\"']|$)")
_EMAIL = re.compile(r"\b[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b")
_IPV4 = re.compile(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w.+-]|\.\d)(?=:|\b)")
_NETWORK = re.compile(
    r"(?i)(?://|@|\b(?:from|to|host|addr(?:ess)?|peer|ip|server|connect(?:ing)?|listen(?:ing)?|MASTER_ADDR)\b[\s\"'=:\[(]{0,4})$"
)
_IPV6 = re.compile(r"(?<![\w:.])\[?((?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4})\]?(?![\w:])")
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b")
_SHARED = frozenset(
    {"root", "ubuntu", "ec2-user", "admin", "user", "home", "localhost", "localhost.localdomain", "nobody", "python"}
)


@dataclass
class Redactor:
    """`clean(text)` as often as needed; `counts` then says what was taken out. host, home, user: of this machine and its owner."""

    host: str = ""
    home: str = ""
    user: str = ""
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of_this_host(cls, environ: Mapping[str, str] = os.environ) -> Redactor:
        return cls(socket.gethostname(), environ.get("HOME", ""), environ.get("USER") or environ.get("LOGNAME", ""))

    @property
    def counts(self) -> dict[str, int]:
        """{kind: how many different ones}."""
        found: dict[str, int] = {}
        for kind, _ in self._known:
            found[kind] = found.get(kind, 0) + 1
        return found

    @property
    def words(self) -> str:
        """`2 tokens, 1 host`; empty when nothing was found."""
        return ", ".join(
            f"{n} {kind}{'' if n == 1 else 's' if kind[-1] != 's' else 'es'}" for kind, n in sorted(self.counts.items())
        )

    def clean(self, text: str) -> str:
        """Tokens first: they may look like anything. What is merely long, or a version, stays."""
        text = _TOKEN.sub(self._as("token"), text)
        text = _URL_LOGIN.sub(self._as("token"), text)
        text = _QUERY.sub(lambda m: m[1] + self._name("token", m[0]), text)
        text = _BEARER.sub(lambda m: f"{m[1]} {self._name('token', m[0])}", text)
        text = _AUTHORIZATION.sub(lambda m: m[1] + self._name("token", m[2]), text)
        text = _NAMED.sub(self._named, text)
        text = _OPTION.sub(self._named, text)
        text = _EMAIL.sub(self._as("e-mail"), text)
        text = _ACCOUNT.sub(lambda m: (m[1] or m[2] or "") + self._name("account", m[0][-12:]), text)
        text = _CLOUD_ID.sub(self._as("cloud id"), text)
        text = _MAC.sub(self._as("address"), text)
        text = _CLOUD_HOST.sub(self._cloud_host, text)
        text = self._own(text)
        text = _HOME.sub("~", text)
        text = _IPV6.sub(self._ipv6, text)
        return _IPV4.sub(self._ipv4, text)

    def _name(self, kind: str, secret: str) -> str:
        known = self._known.get((kind, secret))
        if known is None:
            known = self._known[kind, secret] = f"<{kind}-{self.counts.get(kind, 0) + 1}>"
        return known

    def _as(self, kind: str) -> Callable[[re.Match[str]], str]:
        return lambda match: self._name(kind, match[0])

    def _named(self, match: re.Match[str]) -> str:
        value = match[2]
        harmless = value.lower() in ("none", "null", "true", "false", "unset", "missing") or value.startswith("<")
        if (
            harmless
            or value.isdecimal()
            or re.search(r"(?i)(?:^|[\w.-])(?:new|max|min|pad|eos|bos|num)[\w.-]*token", match[1])
        ):
            return match[0]  # `pad_token = <pad>`, `max_new_tokens: 32` are no secrets
        if re.search(
            r"(?i)(?:pad|eos|bos|unk|sep|cls|mask|image|special|chat)[\w.-]*token|token(?:s|izer|_id|_ids)\b", match[1]
        ):
            return match[0]
        return match[1] + self._name("token", value)

    def _cloud_host(self, match: re.Match[str]) -> str:
        return match[0] if match[0].lower().endswith(_PUBLIC) else self._name("host", match[0])

    def _own(self, text: str) -> str:
        """This machine's name, the home folder wherever it is, the user's name where it stands alone."""
        if len(self.home) > 1:
            text = re.sub(rf"{re.escape(self.home.rstrip('/'))}(?![\w.-])", "~", text)
        names = {self.host, self.host.partition(".")[0]} - {""}
        for name in sorted(names, key=len, reverse=True):
            if name.lower() not in _SHARED and len(name) > 2:
                text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self._as("host"), text)
        if self.user.lower() not in _SHARED and len(self.user) > 2:
            text = re.sub(rf"(?<![\w.-]){re.escape(self.user)}(?![\w.-])", self._as("user"), text)
        return text

    def _ipv4(self, match: re.Match[str]) -> str:
        """`2.28.7631.0` is no address, and `2.14.3.0` is a version unless it stands where addresses stand."""
        try:
            address = ipaddress.IPv4Address(match[0])
        except ValueError:
            return match[0]
        if address.is_loopback or address.is_unspecified:
            return match[0]
        text, end = match.string, match.end()
        port = re.match(r":\d{2,5}\b", text[end : end + 7]) is not None
        if (
            address.packed[0] < 10
            and not port
            and not _NETWORK.search(text[max(0, match.start() - 24) : match.start()])
        ):
            return match[0]
        return self._name("ip", match[0])

    def _ipv6(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.IPv6Address(match[1])
        except ValueError:
            return match[0]
        if address.is_loopback or address.is_unspecified or not re.search(r"[0-9A-Fa-f]", match[1]):
            return match[0]
        return match[0].replace(match[1], self._name("ip", match[1]))
