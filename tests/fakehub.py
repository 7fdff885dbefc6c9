"""A Hugging Face Hub on the loopback interface, just big enough for our tests.

It answers the routes that huggingface_hub 2.4 asks for when it lists, downloads and caches a
repository, ranks models, and syncs a storage bucket. It keeps everything in memory, records each
request, and can be told to fail. Standard library only; buckets with file content need ``hf_xet``. It also stands
for a proxy: a request for a whole URL is answered as if it were its own.

    with FakeHub() as hub:
        hub.add_repo("datasets", "acme/results", {"data/a.parquet": b"..."})
        api = HfApi(endpoint=hub.url, token=False)
        api.dataset_info("acme/results").sha
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

TLS = Path(__file__).parent / "fixtures" / "tls"  # a certificate that nobody trusts, for 127.0.0.1
STAMP = "2026-11-01T00:00:00.000Z"


def git_oid(data: bytes) -> str:
    """The git blob id of some bytes: the ETag the real Hub gives a small file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Repo:
    """One repository: each revision is a full set of files."""

    kind: str
    id: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    lfs: tuple[str, ...] = (".parquet", ".bin", ".safetensors")
    xet: dict[bytes, str] = field(default_factory=dict)  # content to xet hash; empty: plain HTTP

    def commit(self, files: dict[str, bytes], ref: str = "main") -> str:
        seed = json.dumps([self.kind, self.id, len(self.commits), sorted(files)])
        sha = hashlib.sha1(seed.encode()).hexdigest()
        self.commits[sha] = dict(files)
        self.refs[ref] = sha
        return sha

    def resolve(self, revision: str) -> str | None:
        sha = self.refs.get(revision, revision)
        return sha if sha in self.commits else None

    def entry(self, path: str, data: bytes) -> dict[str, Any]:
        item: dict[str, Any] = {"type": "file", "path": path, "size": len(data), "oid": git_oid(data)}
        if path.endswith(self.lfs):
            sha256 = hashlib.sha256(data).hexdigest()
            item["lfs"] = {"oid": sha256, "size": len(data), "pointerSize": 130}
            if data in self.xet:
                item["xetHash"] = self.xet[data]
        return item


@dataclass
class Bucket:
    """One storage bucket: a flat map of path to (bytes, xet hash, mtime)."""

    id: str
    files: dict[str, tuple[bytes, str, str]] = field(default_factory=dict)

    def entry(self, path: str) -> dict[str, Any]:
        data, xet_hash, mtime = self.files[path]
        return {"type": "file", "path": path, "size": len(data), "xetHash": xet_hash, "mtime": mtime}


@dataclass
class Fault:
    """What to do with requests whose "METHOD /path" matches a pattern."""

    pattern: re.Pattern[str]
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    times: int = -1  # how often it still strikes; negative: for ever
    delay: float = 0.0  # wait this long first
    stall: float = 0.0  # with `cut`: hold the connection this long before breaking off
    cut: int | None = None  # let the body through, but break off after this many bytes


class FakeHub:
    """The server. Use it as a context manager; ``url`` is what HF_ENDPOINT should be."""

    def __init__(self, page_size: int = 1000, tls: bool = False) -> None:
        self.page_size = page_size
        self.repos: dict[tuple[str, str], Repo] = {}
        self.buckets: dict[str, Bucket] = {}
        self.models: list[dict[str, Any]] = []
        self.collections: dict[str, list[str]] = {}  # slug → models
        self.catalog: list[dict[str, Any]] | None = None  # of tested recipes; None: this Hub has none
        self.faults: list[Fault] = []
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []  # of each request, names in lower case
        self.other: FakeHub | None = None  # a second server of a test's own
        self._closed = False
        self.rate = 0.0  # bytes a second of a file's body; 0: as fast as it goes
        self._cas = tempfile.TemporaryDirectory(prefix="fakehub-cas-")
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    # -- content ---------------------------------------------------------------------------------

    def add_repo(self, kind: str, repo_id: str, files: dict[str, bytes], xet: bool = False, **info: Any) -> Repo:
        """Add a repository (kind: "models", "datasets" or "spaces") with one commit on main.

        With ``xet`` its large files also get xet hashes, and a client that has hf_xet loads them so.
        """
        repo = self.repos[kind, repo_id] = Repo(kind, repo_id, info=info)
        if xet:
            repo.xet = {files[path]: xet_hash for path, xet_hash in self._store(files).items()}
        repo.commit(files)
        return repo

    def add_model(self, model_id: str, **info: Any) -> None:
        """Add a model to the ranking that list_models sorts and filters."""
        self.models.append({"id": model_id, "private": False, "downloads": 0, "trendingScore": 0, **info})

    def add_recipe(self, model_id: str, *accelerators: str) -> None:
        """Put a model into the inference catalog, with one tested recipe for each accelerator."""
        owner, _, name = model_id.partition("/")
        recipes = [
            {"publicId": f"dish-{n}", "accelerator": a, "engineType": "vllm"} for n, a in enumerate(accelerators)
        ]
        item = {
            "repoId": model_id,
            "modelName": name,
            "authorName": owner,
            "license": "",
            "task": "",
            "createdAt": STAMP,
        }
        self.catalog = [*(self.catalog or []), {**item, "recipes": recipes}]

    def add_bucket(self, bucket_id: str, files: dict[str, bytes], mtime: str = STAMP) -> Bucket:
        """Add a public bucket, its content put into a content store that hf_xet opens from disk."""
        hashes = self._store(files)
        bucket = self.buckets[bucket_id] = Bucket(bucket_id)
        bucket.files = {path: (data, hashes[path], mtime) for path, data in files.items()}
        return bucket

    @property
    def cas_url(self) -> str:
        return f"local://{self._cas.name}"

    def _store(self, files: dict[str, bytes]) -> dict[str, str]:
        hashes = dict.fromkeys(files, "0" * 64)
        filled = {path: data for path, data in files.items() if data}
        if not filled:
            return hashes
        import hf_xet  # only needed here

        with hf_xet.XetSession().new_upload_commit(endpoint=self.cas_url) as commit:
            started = {path: commit.start_upload_bytes(data, name=path) for path, data in filled.items()}
            hashes.update({path: task.result().xet_info.hash for path, task in started.items()})
        return hashes

    # -- trouble ---------------------------------------------------------------------------------

    def fail(self, pattern: str, status: int = 500, **kwargs: Any) -> Fault:
        """Answer matching requests with an error status; see Fault for the other troubles."""
        fault = Fault(re.compile(pattern), status, **kwargs)
        self.faults.append(fault)
        return fault

    def gate(self, pattern: str) -> Fault:
        """Answer like a gated repository does to somebody without access."""
        return self.fail(pattern, 403, headers={"X-Error-Code": "GatedRepo", "X-Error-Message": "gated"})

    def fault_for(self, line: str) -> Fault | None:
        for fault in self.faults:
            if fault.times and fault.pattern.search(line):
                fault.times -= 1
                return fault
        return None

    # -- life ------------------------------------------------------------------------------------

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        self._cas.cleanup()

    def close(self) -> None:
        """From now on connections are refused."""
        if not self._closed:
            self._closed = True
            self._server.shutdown()
            self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no news; anything else is."""
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)


class _Error(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"

    ROUTES = (
        (r"/api/models", "list_models"),
        (r"/api/v1/catalog/list", "list_catalog"),
        (r"/api/collections/(?P<slug>.+)", "collection"),
        (r"/api/(?P<kind>models|datasets|spaces)/(?P<id>[^/]+/[^/]+)(/revision/(?P<rev>[^/]+))?", "repo_info"),
        (r"/api/(?P<kind>models|datasets|spaces)/(?P<id>[^/]+/[^/]+)/refs", "repo_refs"),
        (r"/api/(?P<kind>models|datasets|spaces)/(?P<id>[^/]+/[^/]+)/tree/(?P<rev>[^/]+)(/(?P<path>.+))?", "tree"),
        (r"/api/(?P<kind>models|datasets|spaces)/(?P<id>[^/]+/[^/]+)/paths-info/(?P<rev>[^/]+)", "paths_info"),
        (r"/api/(?P<kind>models|datasets|spaces)/(?P<id>[^/]+/[^/]+)/xet-read-token/(?P<rev>[^/]+)", "xet_token"),
        (r"/api/buckets/(?P<id>[^/]+/[^/]+)", "bucket_info"),
        (r"/api/buckets/(?P<id>[^/]+/[^/]+)/tree(/(?P<path>.+))?", "bucket_tree"),
        (r"/api/buckets/(?P<id>[^/]+/[^/]+)/paths-info", "bucket_paths_info"),
        (r"/api/buckets/(?P<id>[^/]+/[^/]+)/xet-read-token", "xet_token"),
        (r"/buckets/(?P<id>[^/]+/[^/]+)/resolve/(?P<path>.+)", "bucket_file"),
        (r"/(?:(?P<kind>datasets|spaces)/)?(?P<id>[^/]+/[^/]+)/resolve/(?P<rev>[^/]+)/(?P<path>.+)", "file"),
    )

    def do_GET(self) -> None:
        self.answer()

    do_HEAD = do_POST = do_GET

    def answer(self) -> None:
        url = urlsplit(self.path)
        self.query = parse_qs(url.query)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        line = f"{self.command} {self.path}"
        self.hub.requests.append(line)
        self.hub.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.cut: int | None = None
        self.stall = 0.0
        if fault := self.hub.fault_for(line):
            time.sleep(fault.delay)
            self.cut, self.stall = fault.cut, fault.stall
            if fault.cut is None and fault.status:
                return self.send({"error": "fault"}, fault.status, fault.headers)
        try:
            for pattern, name in self.ROUTES:
                if match := re.fullmatch(pattern, url.path):
                    found = {key: unquote(value) for key, value in match.groupdict().items() if value}
                    return getattr(self, name)(**found)
            raise _Error(404, "", f"no route {url.path}")
        except _Error as error:
            headers = {"X-Error-Code": error.code, "X-Error-Message": error.message}
            self.send({"error": error.message}, error.status, headers)

    # -- repositories ----------------------------------------------------------------------------

    def repo(self, kind: str, id: str) -> Repo:
        try:
            return self.hub.repos[kind, id]
        except KeyError:
            # The real Hub answers 401 to strangers, so that private names do not leak.
            raise _Error(401, "RepoNotFound", "Repository not found") from None

    def revision(self, repo: Repo, rev: str) -> str:
        if sha := repo.resolve(rev):
            return sha
        raise _Error(404, "RevisionNotFound", f"Invalid rev id: {rev}")

    def repo_info(self, kind: str, id: str, rev: str = "main") -> None:
        repo = self.repo(kind, id)
        sha = self.revision(repo, rev)
        files = repo.commits[sha]
        full = {
            "id": id, "author": id.split("/")[0], "sha": sha, "lastModified": STAMP, "createdAt": STAMP,
            "private": False, "gated": False, "disabled": False, "downloads": 0, "likes": 0, "tags": [],
            "siblings": [self.sibling(repo, path, files[path]) for path in sorted(files)],
            **repo.info,
        }  # fmt: skip
        self.send(self.expanded(full))

    def sibling(self, repo: Repo, path: str, data: bytes) -> dict[str, Any]:
        """A file in a repository's description: its name, and its size when `blobs` is asked for."""
        if "blobs" not in self.query:
            return {"rfilename": path}
        entry = repo.entry(path, data)
        lfs = {"lfs": {"sha256": entry["lfs"]["oid"], "size": len(data), "pointerSize": 130}} if "lfs" in entry else {}
        return {"rfilename": path, "size": len(data), "blobId": entry["oid"], **lfs}

    def repo_refs(self, kind: str, id: str) -> None:
        repo = self.repo(kind, id)
        branches = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": sha} for name, sha in repo.refs.items()]
        self.send({"branches": branches, "tags": [], "converts": []})

    def tree(self, kind: str, id: str, rev: str, path: str = "") -> None:
        repo = self.repo(kind, id)
        files = repo.commits[self.revision(repo, rev)]
        recursive = self.query.get("recursive", ["false"])[0] in ("true", "True", "1")
        entries = list_tree(files, path, recursive, repo.entry)
        if path and not entries:
            raise _Error(404, "EntryNotFound", f"{path} does not exist")
        self.send_page(entries)

    def paths_info(self, kind: str, id: str, rev: str) -> None:
        repo = self.repo(kind, id)
        files = repo.commits[self.revision(repo, rev)]
        form = parse_qs(self.body.decode())
        found = [entry for entry in list_tree(files, "", True, repo.entry) if entry["path"] in form.get("paths", [])]
        if form.get("expand", ["false"])[0].lower() == "true":
            commit = {"id": repo.resolve(rev), "title": "commit", "date": STAMP}
            found = [entry | {"lastCommit": commit} for entry in found]
        self.send(found)

    def file(self, id: str, rev: str, path: str, kind: str = "models") -> None:
        repo = self.repo(kind, id)
        sha = self.revision(repo, rev)
        files = repo.commits[sha]
        if path not in files:
            raise _Error(404, "EntryNotFound", f"{path} does not exist")
        entry = repo.entry(path, files[path])
        etag = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
        headers = {"X-Repo-Commit": sha, "ETag": f'"{etag}"', "X-Linked-Size": str(entry["size"])}
        if "xetHash" in entry:
            headers |= self.xet_headers(entry["xetHash"], f"/api/{kind}/{id}/xet-read-token/{sha}")
        self.send_bytes(files[path], headers)

    # -- rankings --------------------------------------------------------------------------------

    def list_models(self) -> None:
        found = list(self.hub.models)
        if tag := self.query.get("pipeline_tag"):
            found = [model for model in found if model.get("pipeline_tag") == tag[0]]
        if word := self.query.get("search"):
            found = [model for model in found if word[0].lower() in model["id"].lower()]
        if author := self.query.get("author"):
            found = [model for model in found if model["id"].startswith(author[0] + "/")]
        if key := self.query.get("sort"):
            found.sort(key=lambda model: model.get(key[0]) or 0, reverse=True)
        limit = int(self.query.get("limit", ["1000"])[0])
        self.send_page([self.expanded(model) for model in found], min(limit, self.hub.page_size))

    def list_catalog(self) -> None:
        if self.hub.catalog is None:
            raise _Error(404, "", "no catalog here")
        self.send({"items": self.hub.catalog})

    def collection(self, slug: str) -> None:
        if slug not in self.hub.collections:
            raise _Error(404, "", "no such collection")
        items = [
            {"_id": f"{n}", "id": model, "type": "model", "position": n}
            for n, model in enumerate(self.hub.collections[slug])
        ]
        owner = {"name": slug.partition("/")[0], "type": "org"}
        self.send({"slug": slug, "title": slug, "owner": owner, "items": items, "position": 0, "private": False, "theme": "", "upvotes": 0, "lastUpdated": STAMP})  # fmt: skip

    def expanded(self, info: dict[str, Any]) -> dict[str, Any]:
        wanted = self.query.get("expand")
        if not wanted:
            return info
        return {key: value for key, value in info.items() if key in ("id", *wanted)}

    # -- buckets ---------------------------------------------------------------------------------

    def bucket(self, id: str) -> Bucket:
        try:
            return self.hub.buckets[id]
        except KeyError:
            raise _Error(404, "RepoNotFound", "Bucket not found") from None

    def bucket_info(self, id: str) -> None:
        files = self.bucket(id).files
        size = sum(len(data) for data, _, _ in files.values())
        self.send({"id": id, "private": False, "createdAt": STAMP, "size": size, "totalFiles": len(files)})

    def bucket_tree(self, id: str, path: str = "") -> None:
        bucket = self.bucket(id)
        recursive = self.query.get("recursive", ["false"])[0] in ("true", "True", "1")
        self.send_page(list_tree(bucket.files, path, recursive, lambda name, _: bucket.entry(name)))

    def bucket_paths_info(self, id: str) -> None:
        bucket = self.bucket(id)
        paths = json.loads(self.body)["paths"]
        self.send([bucket.entry(path) for path in paths if path in bucket.files])

    def bucket_file(self, id: str, path: str) -> None:
        bucket = self.bucket(id)
        if path not in bucket.files:
            raise _Error(404, "EntryNotFound", f"{path} does not exist")
        data, xet_hash, _ = bucket.files[path]
        headers = {"ETag": f'"{xet_hash}"', "X-Linked-Size": str(len(data))}
        self.send_bytes(data, headers | self.xet_headers(xet_hash, f"/api/buckets/{id}/xet-read-token"))

    # -- xet -------------------------------------------------------------------------------------

    def xet_headers(self, xet_hash: str, route: str) -> dict[str, str]:
        return {"X-Xet-Hash": xet_hash, "Link": f'<{self.hub.url}{route}>; rel="xet-auth"'}

    def xet_token(self, id: str, kind: str = "", rev: str = "") -> None:
        """Hand out the address of the content store. hf_xet opens a local:// one without a server."""
        expires = int(time.time()) + 3600
        token = {"accessToken": "none", "exp": expires, "casUrl": self.hub.cas_url}
        headers = {"X-Xet-Cas-Url": self.hub.cas_url, "X-Xet-Access-Token": "none"}
        self.send(token, headers={**headers, "X-Xet-Token-Expiration": str(expires)})

    # -- wire ------------------------------------------------------------------------------------

    def send_page(self, items: list[dict[str, Any]], size: int | None = None) -> None:
        """Send one page of a list and, if more follow, the Link header the client walks along."""
        size = size or self.hub.page_size
        start = int(self.query.get("cursor", ["0"])[0])
        headers = {}
        if start + size < len(items):
            query = urlencode({**self.query, "cursor": [str(start + size)]}, doseq=True)
            headers["Link"] = f'<{self.hub.url}{urlsplit(self.path).path}?{query}>; rel="next"'
        self.send(items[start : start + size], headers=headers)

    def send(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_bytes(json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})}, status)

    def send_bytes(self, data: bytes, headers: dict[str, str], status: int = 200) -> None:
        if status == 200 and (match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))):
            start, end = int(match[1]), int(match[2] or len(data) - 1)
            headers = {**headers, "Content-Range": f"bytes {start}-{end}/{len(data)}"}
            data, status = data[start : end + 1], 206
        self.send_response(status)
        for key, value in {"Accept-Ranges": "bytes", "Last-Modified": formatdate(usegmt=True), **headers}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.write(data if self.cut is None else data[: self.cut])
        if self.cut is not None:
            self.wfile.flush()
            time.sleep(self.stall)
            self.close_connection = True

    def write(self, data: bytes) -> None:
        step = max(1, int(self.hub.rate / 50)) if self.hub.rate and "/resolve/" in self.path else len(data) or 1
        for start in range(0, len(data), step):
            self.wfile.write(data[start : start + step])
            if step < len(data):
                time.sleep(0.02)

    def log_message(self, *args: object) -> None:
        pass


def list_tree(files: dict[str, Any], prefix: str, recursive: bool, entry: Any) -> list[dict[str, Any]]:
    """The entries under a folder, as the tree routes give them: folders first seen, then files."""
    prefix = prefix.rstrip("/") + "/" if prefix else ""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(files):
        if not path.startswith(prefix):
            if path == prefix.rstrip("/"):
                found[path] = entry(path, files[path])
            continue
        parts = path[len(prefix) :].split("/")
        for depth in range(1, len(parts)):
            folder = prefix + "/".join(parts[:depth])
            if recursive or depth == 1:
                found.setdefault(folder, {"type": "directory", "path": folder, "oid": git_oid(folder.encode())})
        if recursive or len(parts) == 1:
            found[path] = entry(path, files[path])
    return list(found.values())


def load_folder(folder: str | Path) -> dict[str, bytes]:
    """Read a folder into the {path: bytes} form that add_repo and add_bucket take."""
    root = Path(folder)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
