"""The Hub: access, names, limits, network, offline mode, download locks. Shapes of huggingface_hub, httpx, requests and Transformers."""

from __future__ import annotations

from trnui_runner.diagnosis.rules.builders import HUB, LINUX, after, fault, moves, noise, waits

_URL = r"https?://(?:hf\.co|huggingface\.co)/(?:api/(?:models|datasets)/)?"

RULES = (
    fault(
        "gated", "hub_gated",
        (
            "GatedRepo", "gated repo", "ated repo", "is restricted", "awaiting a review",
            "not in the authorized list", "LocalTokenNotFound", "nvalid credentials", "nvalid user token",
            "nvalid username or password", "xpired token", "need to agree", "oken is required",
            "have access to it and be authenticated",
        ),
        (r"GatedRepoError(?:: (?P<status>\d{3}))?|[Cc]annot access gated repo(?: for url "
        + _URL
        + r"(?P<repo>[\w.-]+/[\w.-]+))?|trying to access a gated repo|Access to model (?P<repo2>\S+) is restricted"
        r"|is a gated repository|awaiting a review|not in the authorized list|LocalTokenNotFoundError"
        r"|[Ii]nvalid credentials in Authorization|[Ii]nvalid user token|[Ii]nvalid username or password"
        r"|[Ee]xpired token|oken is required"),
        "The repository exists, and this account may not read it", HUB,
    ),
    fault(
        "forbidden", "hub_gated", ("401", "403"),
        r"\b(?P<status>401|403) (?:Client Error|Forbidden|Unauthorized)"
        r"""|[\"']?status(?:_code)?[\"']?: ?(?P<status2>401|403)\b|HTTPStatusError[^\n]*\b(?P<status3>401|403)\b""",
        "Refused; without the word that the repository is unknown, access is the reason", HUB, tier=1,
        but=("HTTP Request:",),
    ),
    fault(
        "not-found", "hub_not_found",
        (
            "RepositoryNotFound", "RevisionNotFound", "EntryNotFoundError", "Repository Not Found",
            "Revision Not Found", "Entry Not Found", "not a valid model identifier", "not appear to have",
            "not a valid git identifier", "valid repository name",
        ),
        (r"(?<!Local)(?:Repository|Revision|(?:Remote)?Entry)NotFoundError(?:: (?P<status>\d{3}))?"
        r"|(?:Repository|Revision|Entry) Not Found for url:? (?:"
        + _URL
        + r"(?P<repo>[\w.-]+/[\w.-]+))?|(?P<repo2>[\w.-]+/?[\w.-]*) is not a local folder|not a valid model identifier"
        r"|(?P<repo3>\S+) does not appear to have (?:a file named (?P<file>\S+?)[. ]"
        r"|files named)|is not a valid git identifier|valid repository name"),
        "The Hub knows no such repository, revision or file", HUB, but=("LocalEntryNotFound",),
    ),
    fault(
        "404", "hub_not_found", "404",
        r"""\b(?P<status>404) (?:Client Error|Not Found)|[\"']status(?:_code)?[\"']: ?(?P<status2>404)\b""",
        "The same as a number", HUB, tier=2, but=("HTTP Request:", "HEAD", "GET"),
    ),
    fault(
        "rate-limit", "hub_rate_limit",
        ("429", "rate limit", "ate-limit", "Too Many Requests", "TooManyRequests", "ate limit"),
        r'\b(?P<status>429) (?:Client Error|Too Many|Server)|\"?status(?:_code)?\"?[:= ]{1,2}(?P<status2>429)\b'
        r'|HTTP(?:/[\d.]+)?[ \"]+(?P<status3>429)\b|Too Many Requests|TooManyRequests'
        r"|(?i:rate[- ]limit\w* (?:reached|exceeded|hit)|reached your '?\w*'? rate limit|had to rate limit)",
        "Too many requests from this address or account", HUB, passing=True,
    ),
    # -- offline before network: its errors wrap connection errors
    fault(
        "offline", "hub_offline",
        (
            "HF_HUB_OFFLINE", "OfflineMode", "ffline mode is", "TRANSFORMERS_OFFLINE",
            "outgoing traffic has been disabled", "utgoing traffic is disabled", "local_files_only",
        ),
        r"unset the `?HF_HUB_OFFLINE"
        r"""|HF_HUB_OFFLINE[='\"` ]*(?:1|is|set|on|true|mode)[^\n]*(?:cannot|not found|fail|error|unset|disable)"""
        r"|OfflineModeIsEnabled|[Oo]ffline mode is (?:enabled|on)|outgoing traffic has been disabled"
        r"|Outgoing traffic is disabled|local_files_only(?:=True|'? to False)",
        "The client was told not to ask, and the cache has no such file", HUB, but=("Offline mode: forcing",), tier=3,
    ),
    fault(
        "not-cached", "hub_network",
        (
            "LocalEntryNotFound", "couldn't connect to", "couldn't find them in the cached",
            "cannot find the requested files", "cannot find the appropriate snapshot", "specific connection error",
            "an appropriate cached snapshot",
        ),
        r"LocalEntryNotFoundError|couldn't connect to '?https?://|couldn't find them in the cached"
        r"|cannot find the requested files in the (?:local )?cache|specific connection error"
        r"|an appropriate cached snapshot",
        "Neither reached nor cached; offline mode would have said so", HUB, tier=1,
    ),
    fault(
        "network", "hub_network",
        (
            "Max retries exceeded", "ConnectionPool(host=", "Name or service not known",
            "emporary failure in name resolution", "NameResolutionError", "getaddrinfo", "ProxyError", "SSLError",
            "SSLCertVerification", "CERTIFICATE_VERIFY_FAILED", "ReadTimeout", "Read timed out", "ConnectTimeout",
            "Server Error", "Bad Gateway", "Service Unavailable", "Gateway Time", "ConnectError", "IncompleteRead",
            "ChunkedEncodingError", "RemoteProtocolError", "RemoteDisconnected", "CAS service error",
            "onsistency check failed", "SSL: ", "Could not resolve host", "Proxy Authentication Required",
            "<title>",
        ),
        r"Max retries exceeded|Name or service not known|[Tt]emporary failure in name resolution|NameResolutionError"
        r"|getaddrinfo failed|ProxyError|SSLError|SSLCertVerification|CERTIFICATE_VERIFY_FAILED|ReadTimeout"
        r"|Read timed out|ConnectTimeout"
        r"|\b(?P<status>5\d\d) (?:Server Error|Bad Gateway|Service Unavailable|Gateway|Internal Server Error)"
        r"|Bad Gateway|Gateway Time-?out|(?:httpx|httpcore|requests)[\w.]*\.Connect\w*Error|ConnectError"
        r"|IncompleteRead|ChunkedEncodingError|RemoteProtocolError|RemoteDisconnected|CAS service error"
        r"|(?i:<title>[^<\n]{0,80}(?:proxy|gateway|firewall|web filter|blocked))|[Cc]onsistency check failed|Could not resolve host|Proxy Authentication Required",
        "The way to the Hub is closed, or the Hub is down", HUB, passing=True,
        but=("29500", "TCPStore", "c10d", "pip", "/simple/", "HTTP Request:", "RPC failed", "rendezvous"), tier=3,
    ),
    fault(
        "network-hub", "hub_network", ("huggingface.co", "hf.co", "Hub"),
        r"(?:huggingface\.co|hf\.co|\bHub\b)[^\n]{0,200}(?:[Cc]ouldn't connect|[Cc]onnection (?:refused|reset|aborted|timed out|error)"
        r"|[Nn]o route to host|[Nn]etwork is unreachable|[Tt]imed? ?out|[Cc]annot (?:be )?reach"
        r"|could not be reached)|(?:[Cc]onnection (?:refused|reset|aborted|error)|ConnectionError"
        r"|[Nn]o route to host|[Nn]etwork is unreachable|[Cc]annot reach"
        r"|could not reach)[^\n]{0,200}(?:huggingface\.co|hf\.co|\bHub\b)",
        "A connection to the Hub failed", HUB, passing=True, but=("HF_HUB_OFFLINE", "offline mode"), tier=3,
    ),
    fault(
        "network-client", "hub_network",
        (
            "requests.exceptions", "urllib3.exceptions", "httpx.", "httpcore.", "ata processing error",
            "Request Middleware",
        ),
        r"(?:requests|urllib3)\.exceptions\.(?!HTTPError|JSONDecodeError|InvalidSchema|MissingSchema|InvalidURL)\w+"
        r"|(?:httpx|httpcore)\.(?!HTTPStatusError|InvalidURL)[A-Z]\w*(?:Error|Timeout)\b|Data processing error"
        r"|Request Middleware Error",
        "The HTTP client of the Hub gave up", HUB, passing=True,
        but=("No space left", "os error 28", "pip", "/simple/", "OFFLINE", "ffline"), tier=2,
    ),
    moves(
        "hub-frame", "", ("huggingface_hub", "hf_xet", "file_download"),
        r'File \"[^\"]*(?:huggingface_hub|hf_xet)',
        "A frame of the Hub's client", HUB, onward=False,
    ),
    after(
        "hub-peer", "hub_network", ("reset by peer", "losed by peer", "onnection refused", "roken pipe", "timed out"),
        r"reset by peer|closed by peer|[Cc]onnection refused|[Bb]roken pipe|timed out",
        "A connection of the Hub's client broke", HUB, tier=3, near="hub-frame",
    ),
    fault(
        "unreachable", "hub_network", ("No route to host", "Network is unreachable"),
        r"No route to host|Network is unreachable",
        "No way out of this host", LINUX, tier=1, but=("TCPStore", "c10d", "socket.cpp"), passing=True,
    ),
    waits(
        "hub-lock", "hub_lock_wait",
        ("to acquire lock", "lock file needs manual removal", "aiting for the download", "aiting for download", "ownload lock"),
        r"lock file needs manual removal"
        r"|[Ss]till waiting to acquire lock(?: on (?P<lock>\S+))?(?: \(elapsed: (?P<seconds>[\d.]+) seconds?\))?"
        r"|[Ww]aiting (?:for|to acquire)[^\n]{0,40}(?:download|hub)[^\n]{0,20}lock",
        "Another process downloads the same file, or died while doing so", HUB, phase="download",
    ),
    fault(
        "hub-lock-timeout", "hub_lock_wait", "could not be acquired",
        r"[Tt]he file lock '\S*(?:huggingface|/hub/|\.locks)\S*' could not be acquired",
        "A lock of the Hub's cache was not had in time", HUB,
    ),
    waits(
        "no-bytes", "hub_lock_wait", ("0.00B/s", "0.00 B/s", "?B/s", "?it/s", "0 Bytes/s", "0.0 kB/s", "--.-K", "0.00kB/s"),
        r"\[(?!00:[0-2]\d<)(?P<elapsed>\d[\d:]+)<[\d:?]+, +(?:\?|0\.0+ ?)[kMG]?i?B/s\]"
        r"|(?:Fetching|Downloading|\.safetensors|\.bin|\.gguf|\.json|\.model|snapshot)[^\n]{0,160}\[(?!00:[0-2]\d<)(?P<elapsed2>\d[\d:]+)<\?, +\?it/s\]"
        r"|\(0 Bytes/s\)|--\.-K(?:B/s)?(?= |$)[^\n]{0,20}eta",
        "A download that moves no bytes", HUB, phase="download",
        say="A download has moved no bytes, {elapsed} after its start",
        hint="See whether its .incomplete file grows; if not, stop it and start it again, which goes on where it stopped. Check proxy and egress of this host if it stalls again.",
    ),
    noise(
        "http-log", "HTTP Request:",
        r"HTTP Request: (?:HEAD|GET|POST)",
        "The client's log of requests: a 404 of an optional file is normal", HUB,
    ),
    noise(
        "unauthenticated", ("unauthenticated requests", "local file already exists. Defaulting"),
        r"unauthenticated requests|local file already exists\. Defaulting",
        "A remark", HUB,
    ),
)  # fmt: skip
