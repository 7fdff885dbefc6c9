"""The one client that talks to a Hub: every request bounded in time, no retries behind our back, no token unless allowed,
no traffic that was not asked for. Used inside the fetching child only."""

from __future__ import annotations

import os
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import trnui
from trnui.catalog.dataset.snapshot import HUB, endpoint
from trnui.catalog.hub.digests import is_digest
from trnui.catalog.hub.hub_errors import HubError, from_exception, from_status, odd_name, too_long, torn

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_RETRY_AFTER = 0.5  # seconds before the one second try of a file whose server stumbled
_TRIES = 3  # times that a file is begun or taken up again without a chunk having come in between
_CHUNK = 1 << 16
ANSWER: Final = 64 << 20  # bytes of an answer that is not a file: lists and descriptions are a few MiB at most
_UNASKED = "/api/agent-harnesses"  # a daily request of the client library's own


def _nothing(_: object = None) -> None: ...


def connect(
    timeout: float,
    *,
    token: bool,
    beat: Callable[[], None] = _nothing,
    got: Callable[[int], None] = _nothing,
    met: Callable[[HubError], None] = _nothing,
) -> HfApi:
    """An HfApi whose requests end within about `timeout` seconds, or raise HubError.

    `beat` is called at each answer, `got` with the bytes of files as they come in (the library itself tells every 10 MB only),
    `met` with what broke a file off, which the library takes up again by itself.

    Settings of huggingface_hub are read when it is imported, so this must be its first import in the process.
    """
    os.environ["HF_HUB_DISABLE_XET"] = "1"  # one host, plain HTTP, can be stopped
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = os.environ["HF_HUB_DISABLE_UPDATE_CHECK"] = "1"
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = os.environ["HF_HUB_DISABLE_EXPERIMENTAL_WARNING"] = "1"
    if not token:
        os.environ["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    import huggingface_hub
    from huggingface_hub.utils import logging

    logging.set_verbosity(50)  # CRITICAL: its words come to us as exceptions
    huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE = _CHUNK  # what a broken download loses
    if endpoint() != HUB:  # another Hub is asked for its own catalog, never the public one behind its back
        huggingface_hub.constants.INFERENCE_CATALOG_ENDPOINT = f"{endpoint()}/api/v1/catalog"
    huggingface_hub.set_client_factory(lambda: _client(timeout, beat, got, met))
    return huggingface_hub.HfApi(
        endpoint=endpoint(), token=None if token else False, library_name="trnui", library_version=trnui.__version__
    )


def _client(
    timeout: float, beat: Callable[[], None], got: Callable[[int], None], met: Callable[[HubError], None]
) -> Any:
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # httpx or httpx2, whichever the library is built on

    base = endpoint()
    resumes = Resumes()
    broken: dict[str, HubError] = {}  # by file

    class Counted(httpx.SyncByteStream):
        def __init__(self, stream: Any, what: str) -> None:
            self._stream, self._what = stream, what

        def __iter__(self) -> Iterator[bytes]:
            try:
                for piece in self._stream:
                    got(len(piece))
                    yield piece
            except httpx.RequestError as error:
                broken[self._what] = from_exception(error, base, self._what)
                met(broken[self._what])
                raise

        def close(self) -> None:
            self._stream.close()

    class Client(httpx.Client):
        """Turns every trouble into HubError, which the library neither catches nor retries."""

        def send(self, request: Any, **options: Any) -> Any:
            if request.url.path.endswith(_UNASKED):
                raise RuntimeError("not asked for")
            request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), timeout)
            what = asked_for(str(request.url.path))
            hub = base if request.url.host in base else f"{request.url.scheme}://{request.url.host}"
            again = file = "/resolve/" in request.url.path
            body = file and request.method == "GET"
            if body and resumes.gone_on_for_nothing(str(request.url), request.headers.get("range", "")):
                raise broken.get(what) or torn(hub, what)
            if not file:
                request.headers["accept-encoding"] = "identity"
            while True:
                try:
                    response = super().send(request, **(options if file else {**options, "stream": True}))
                except httpx.RequestError as error:
                    trouble = from_exception(error, hub, what)
                else:
                    if response.status_code < 400:
                        if file and request.method == "HEAD":
                            trust_names(response.headers, hub, what)
                        if not body:
                            beat()
                        if not file:
                            return whole(response, hub, what)
                        if options.get("stream"):
                            response.stream = Counted(response.stream, what)
                        return response
                    headers = {k.lower(): v for k, v in response.headers.items()}
                    response.close()
                    trouble = from_status(response.status_code, headers, hub, what)
                if not again or trouble.kind not in ("server", "refused", "limited"):
                    raise trouble
                again = False
                time.sleep(_RETRY_AFTER)

    def whole(response: Any, hub: str, what: str) -> Any:
        """An answer read up to its limit; as the client would have made it."""
        pieces, size = [], 0
        try:
            for piece in response.iter_bytes():
                size += len(piece)
                if size > ANSWER:
                    raise too_long(hub, what, ANSWER)
                pieces.append(piece)
        except httpx.RequestError as error:
            raise from_exception(error, hub, what) from error
        finally:
            response.close()
        headers = [(k, v) for k, v in response.headers.multi_items() if k not in ("content-encoding", "content-length")]
        found = httpx.Response(
            response.status_code, headers=headers, content=b"".join(pieces), request=response.request,
            extensions=response.extensions, history=response.history,
        )  # fmt: skip
        found.next_request = response.next_request
        return found

    return Client(follow_redirects=True, timeout=timeout, verify=_trust())


def trust_names(headers: Mapping[str, str], hub: str, what: str) -> None:
    """The client library makes paths of a file's ETag and commit, as the answer to its HEAD request names them: nothing but
    hexadecimal digits may become one. Raises HubError."""
    if headers.get("location", "").startswith("/"):
        return  # a hop on the same Hub: the answer at its end counts
    etag = "x-linked-etag" if headers.get("x-linked-etag") else "etag"
    for name in (etag, "x-repo-commit"):
        value = headers.get(name)
        if value is not None and not is_digest(value.removeprefix("W/").strip('"')):
            raise odd_name(hub, what, name, value)


class Resumes:
    """Counts how often a download was begun or taken up again at about the same place: the library itself would go on for ever."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}  # address → last start, times

    def gone_on_for_nothing(self, url: str, span: str) -> bool:
        found = re.match(r"bytes=(\d+)-", span)
        start = int(found[1]) if found else 0
        last, times = self._seen.get(url, (0, 0))
        times = 1 if start - last > _CHUNK else times + 1
        self._seen[url] = (start, times)
        return times > _TRIES


def _trust() -> ssl.SSLContext | bool:
    """Which CAs are trusted: SSL_CERT_FILE and SSL_CERT_DIR as the client itself does, else the bundles that requests and curl honour."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return True
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        path = os.environ.get(name)
        if path:
            try:
                if os.path.isdir(path):
                    return ssl.create_default_context(capath=path)
                return ssl.create_default_context(cafile=path)
            except OSError as error:
                raise HubError(
                    "tls", f"{name}={path}: {error.strerror or error}", "It must be a file of CA certificates."
                ) from error
    return True


def asked_for(path: str) -> str:
    """What a request is about, in words: `/api/datasets/a/b/revision/main` → `dataset a/b`."""
    parts = path.strip("/").split("/")
    if "resolve" in parts:
        at = parts.index("resolve")
        return "file " + "/".join(parts[at + 2 :])
    if parts[-2:] == ["catalog", "list"]:
        return "the inference catalog"
    if parts[:1] == ["api"] and len(parts) >= 4:
        return f"{parts[1].rstrip('s')} {parts[2]}/{parts[3]}"
    if parts == ["api", "models"]:
        return "its list of models"
    return path
