"""An in-memory fake of the service for the tests of programs that use this client.

It starts runs, keeps their idempotency keys and ends runs as the test says; it loses answers, delays them and refuses
requests on demand. It validates nothing, and has only the routes that such tests need.

    with FakeServer() as server:
        server.drop_responses(1)
        started = Client(server.url, "any").start("meter-readings", b"meter_id,kwh\\n")
        assert started.replayed and len(server.runs) == 1
"""

import dataclasses
import hashlib
import json
import re
import socket
import struct
import threading
import time
import uuid
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Type
from urllib.parse import parse_qs, unquote, urlsplit

from ._keys import new_key
from .models import Counts, Run, Step

_KEY_LIFE = timedelta(hours=24)
_STATUSES = {
    "PASS": ("SUCCEEDED", ""), "FAIL": ("FAILED", "VALIDATION_FAILED"), "ERROR": ("FAILED", "SYSTEM_ERROR"),
    "CANCELED": ("CANCELED", ""), "TIMED_OUT": ("TIMED_OUT", ""),
}


@dataclasses.dataclass(frozen=True)
class _Use:
    """What a key stands for."""

    fingerprint: str
    run: Run
    request_id: str


@dataclasses.dataclass(frozen=True)
class _Refusal:
    status: int
    code: str
    detail: str
    retryable: bool = False
    retry_after: int = 0


class FakeServer:
    """A service on a free port of this machine. Use it in a ``with`` statement, or close it at the end."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._runs: List[Run] = []
        self._uses: Dict[str, _Use] = {}
        self._starts = 0
        self._drops = 0
        self._refusals: List[_Refusal] = []
        self._delay = 0.0
        self._left: Optional[int] = None
        self._result: Tuple[str, Sequence[Step]] = ("PASS", ())
        self._held = False
        self._closed = False
        self._http = _Listener(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def __enter__(self) -> "FakeServer":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server and the connections to it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def runs(self) -> List[Run]:
        """The runs that were started, in that order."""
        with self._changed:
            return list(self._runs)

    @property
    def starts(self) -> int:
        """Counts the requests to start a run, including replays and refusals."""
        with self._changed:
            return self._starts

    def drop_responses(self, count: int) -> None:
        """Loses the next answers to starts: the start is carried out, and then the connection breaks."""
        with self._changed:
            self._drops = count

    def busy(self, count: int) -> None:
        """Answers the next starts with 409, as if their key were in progress."""
        detail = "A request with this idempotency key is currently being processed."
        self._refuse(count, _Refusal(409, "idempotency_key_in_progress", detail, True, 1))

    def fail(self, count: int, *, status: int, code: str, retryable: bool = False, detail: str = "No.") -> None:
        """Refuses the next starts."""
        self._refuse(count, _Refusal(status, code, detail, retryable))

    def delay(self, seconds: float) -> None:
        """Delays all answers."""
        with self._changed:
            self._delay = seconds

    def quota(self, left: Optional[int]) -> None:
        """Limits how many more runs may be started; None is no limit."""
        with self._changed:
            self._left = left

    def outcome(self, result: str, *steps: Step) -> None:
        """Sets the result of the runs that are started from now on."""
        with self._changed:
            self._result = (result, steps)

    def hold(self) -> None:
        """Keeps the runs that are started from now on pending until :meth:`end`."""
        with self._changed:
            self._held = True

    def end(self, run_id: str, result: str, *steps: Step) -> None:
        """Completes a run with its steps."""
        with self._changed:
            for index, run in enumerate(self._runs):
                if run.id == run_id and not run.completed:
                    self._runs[index] = _ended(run, result, steps)
            self._changed.notify_all()

    def _refuse(self, count: int, refusal: _Refusal) -> None:
        with self._changed:
            self._refusals.extend([refusal] * count)

    # What follows answers requests.

    def _start(self, handler: "_Handler", workflow: str) -> None:
        key = handler.headers.get("Idempotency-Key", "").strip('"')
        fingerprint = handler.fingerprint()
        with self._changed:
            self._starts += 1
            use = self._uses.get(key)
            refusal = self._refusal(use, fingerprint)
            if refusal is None and use is None:
                use = self._admit(workflow, key, fingerprint, handler.request_id)
            dropped = refusal is None and self._drops > 0
            self._drops -= dropped
        if refusal is not None:
            handler.refuse(refusal)
        elif dropped:
            handler.break_off()
        elif use is not None:
            headers = {"Location": f"/api/runs/{use.run.id}/"}
            if key:
                expires = use.run.created_at or datetime.now(timezone.utc)
                headers["Idempotency-Key"] = key
                headers["Idempotency-Expires"] = (expires + _KEY_LIFE).strftime("%a, %d %b %Y %H:%M:%S GMT")
            if use.request_id != handler.request_id:
                headers.update({"Idempotent-Replayed": "true", "Original-Request-Id": use.request_id})
            handler.answer(201, _shown(use.run), headers)

    def _refusal(self, use: Optional[_Use], fingerprint: str) -> Optional[_Refusal]:
        if self._refusals:
            return self._refusals.pop(0)
        if use is not None and use.fingerprint != fingerprint:
            detail = "Idempotency key has already been used with a different request body."
            return _Refusal(422, "idempotency_key_reused", detail)
        if use is None and self._left is not None:
            if self._left == 0:
                return _Refusal(429, "quota_exceeded", "The runs of this month are used.", retry_after=3600)
            self._left -= 1
        return None

    def _admit(self, workflow: str, key: str, fingerprint: str, request_id: str) -> _Use:
        """Starts a run. What the key stands for is the run as it was started."""
        run = Run(
            id=new_key(), state="PENDING", result="UNKNOWN", status="PENDING", workflow=str(uuid.uuid4()),
            workflow_slug=workflow, workflow_version=1, submission=str(uuid.uuid4()), org="acme", source="API",
            idempotency_key=key or None, created_at=datetime.now(timezone.utc),
        )
        use = _Use(fingerprint, run, request_id)
        if key:
            self._uses[key] = use
        self._runs.append(run if self._held else _ended(run, *self._result))
        return use

    def _find(self, run_id: str) -> Optional[Run]:
        return next((run for run in self._runs if run.id == run_id), None)

    def _read(self, handler: "_Handler", run_id: str) -> None:
        patience = time.monotonic() + float(handler.query("wait") or 0)
        with self._changed:
            run = self._find(run_id)
            while run is not None and not run.completed and not self._closed and time.monotonic() < patience:
                self._changed.wait(patience - time.monotonic())
                run = self._find(run_id)
        if run is None:
            handler.nothing()
        else:
            handler.answer(200, _shown(run))

    def _events(self, handler: "_Handler", run_id: str) -> None:
        if self._find(run_id) is None:
            handler.nothing()
            return
        seen = int(handler.headers.get("Last-Event-ID") or 0)
        handler.begin_stream()
        while True:
            with self._changed:
                run = self._find(run_id)
                while run is not None and len(_story(run)) <= seen and not run.completed and not self._closed:
                    self._changed.wait()
                    run = self._find(run_id)
                closed = self._closed
            if run is None or closed:
                return
            for number, (name, data) in enumerate(_story(run)[seen:], seen + 1):
                handler.wfile.write(f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode())
            seen = len(_story(run))
            if run.completed:
                return

    def _findings(self, handler: "_Handler", run_id: str) -> None:
        with self._changed:
            run = self._find(run_id)
        if run is None:
            handler.nothing()
            return
        found = [{**_shown(issue), "step_id": step.step_id} for step in run.steps for issue in step.issues]
        handler.answer(200, {"next": None, "previous": None, "results": found})

    def _list(self, handler: "_Handler") -> None:
        key = handler.query("idempotency_key")
        with self._changed:
            runs = [run for run in reversed(self._runs) if not key or run.idempotency_key == key]
        results = [_shown(dataclasses.replace(run, steps=[])) for run in runs]
        handler.answer(200, {"next": None, "previous": None, "results": results})

    def _cancel(self, handler: "_Handler", run_id: str) -> None:
        self.end(run_id, "CANCELED")
        with self._changed:
            run = self._find(run_id)
        if run is None:
            handler.nothing()
        elif run.result != "CANCELED":
            handler.refuse(_Refusal(422, "run_completed", "The run has already ended."))
        else:
            handler.answer(200, _shown(run))


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    # More starts may come at once than the default of 5 lets wait.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error."""


def _handler(server: FakeServer) -> Type["_Handler"]:
    class Handler(_Handler):
        fake = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"
    request_id = ""
    body = b""

    def do_GET(self) -> None:
        self._route((
            (r"/api/runs/", lambda: self.fake._list(self)),
            (r"/api/runs/([^/]+)/", lambda run_id: self.fake._read(self, run_id)),
            (r"/api/runs/([^/]+)/events/", lambda run_id: self.fake._events(self, run_id)),
            (r"/api/runs/([^/]+)/findings/", lambda run_id: self.fake._findings(self, run_id)),
        ))

    def do_POST(self) -> None:
        self._route((
            (r"/api/workflows/([^/]+)/start/", lambda workflow: self.fake._start(self, workflow)),
            (r"/api/runs/([^/]+)/cancel/", lambda run_id: self.fake._cancel(self, run_id)),
        ))

    def _route(self, routes: Sequence[Tuple[str, Callable[..., None]]]) -> None:
        self.request_id = str(uuid.uuid4())
        self.body = self._read_body()
        time.sleep(self.fake._delay)
        for pattern, view in routes:
            found = re.fullmatch(pattern, urlsplit(self.path).path)
            if found is not None:
                view(*map(unquote, found.groups()))
                return
        self.nothing()

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if len(body) < length:
                raise EOFError("the client has gone in the middle of its body")
            return body
        parts: List[bytes] = []
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            parts.append(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                return b"".join(parts)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are not interested."""

    def query(self, name: str) -> str:
        return parse_qs(urlsplit(self.path).query).get(name, [""])[0]

    def fingerprint(self) -> str:
        """Returns what the start means: its address and its form, whatever the boundary."""
        kind = self.headers.get("Content-Type", "")
        boundary = re.search(r'boundary="?([^";]+)', kind)
        body = self.body
        if boundary is not None:
            kind, body = kind.replace(boundary.group(1), ""), body.replace(boundary.group(1).encode(), b"")
        return hashlib.sha256(repr((self.path, kind)).encode() + body).hexdigest()

    def answer(
        self, status: int, body: object, headers: Optional[Dict[str, str]] = None, kind: str = "application/json"
    ) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Request-Id", self.request_id)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def refuse(self, refusal: _Refusal) -> None:
        headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}
        self.answer(refusal.status, {
            "type": f"/docs/errors/{refusal.code}/", "title": HTTPStatus(refusal.status).phrase,
            "status": refusal.status, "detail": refusal.detail, "code": refusal.code, "request_id": self.request_id,
            "retryable": refusal.retryable,
        }, headers, "application/problem+json")

    def nothing(self) -> None:
        self.refuse(_Refusal(404, "not_found", "There is nothing at this address."))

    def break_off(self) -> None:
        """Resets the connection without an answer."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def begin_stream(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Request-Id", self.request_id)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()


def _ended(run: Run, result: str, steps: Sequence[Step]) -> Run:
    status, category = _STATUSES.get(result, (result, ""))
    now = datetime.now(timezone.utc)
    counts = Counts(
        sum(step.counts.errors for step in steps), sum(step.counts.warnings for step in steps),
        sum(step.counts.infos for step in steps),
    )
    return dataclasses.replace(
        run, state="COMPLETED", result=result, status=status, error_category=category, steps=list(steps),
        started_at=now, ended_at=now, attempts=1, counts=counts,
    )


def _story(run: Run) -> List[Tuple[str, Dict[str, Any]]]:
    """Returns what has happened to a run."""
    bare = _shown(dataclasses.replace(run, steps=[]))
    story = [("run.created", bare)]
    if run.completed:
        story += [("step.completed", _shown(dataclasses.replace(step, issues=[]))) for step in run.steps]
        story.append(("run.completed", bare))
    return story


def _shown(model: Any) -> Dict[str, Any]:
    """Returns a model as the service writes it."""
    return {name: _shown_value(value) for name, value in dataclasses.asdict(model).items()}


def _shown_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, dict):
        return {name: _shown_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_shown_value(one) for one in value]
    return value
