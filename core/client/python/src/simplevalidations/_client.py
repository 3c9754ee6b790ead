"""The client."""

import json
import logging
import ssl
import sys
import time
from datetime import datetime, timezone
from typing import Callable, Dict, Iterator, Mapping, Optional, Tuple, Type, TypeVar
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from . import _retry, models
from ._form import JSON, Body, Document, Form
from ._keys import new_key as _new_key
from ._retry import Attempt, Retries
from ._wait import Event, Wait
from ._wire import Answer, Sender
from .errors import ResponseError
from .models import (
    Comparison,
    DocumentWindow,
    Finding,
    LoggedRequest,
    LoggedRequestDetail,
    Me,
    OrganizationChange,
    OrganizationSettings,
    Run,
    Started,
    Usage,
    Workflow,
)

T = TypeVar("T")

_LOG = logging.getLogger("simplevalidations")
_PAGE_SIZE = "100"


class _Reply:
    """A success that was read to its end."""

    def __init__(self, answer: Answer, body: bytes, attempts: int) -> None:
        self.headers = answer.headers
        self.body = body
        self.attempts = attempts


class Client:
    """Calls one service with one token. Several threads may use a client at once.

    ``base_url`` is like "https://validations.example". ``retries`` says how often and how long calls are tried.
    ``user_agent`` names the calling program in front of the client. ``ssl_context`` says which certificates are
    trusted. ``on_attempt`` is called with every attempt when it has ended. ``new_key`` makes the keys of calls without
    one. Proxies of the environment are not used, and redirects are never followed: they would lose documents and leak
    the token.
    """

    def __init__(
        self, base_url: str, token: str = "", *, retries: Optional[Retries] = None, user_agent: str = "",
        ssl_context: Optional[ssl.SSLContext] = None, on_attempt: Optional[Callable[[Attempt], None]] = None,
        new_key: Callable[[], str] = _new_key,
    ) -> None:
        base = _checked(base_url)
        if any(not "!" <= letter <= "~" for letter in token):
            raise ValueError("the token has characters that no token has")
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        self._user_agent = f"{user_agent} simplevalidations-python/1 (Python {version})".strip()
        self._base = base.path.rstrip("/")
        self._shown = base.geturl()
        self._token = token
        self._retries = retries or Retries()
        self._on_attempt = on_attempt
        self._new_key = new_key
        self._sender = Sender(base, ssl_context)
        self._sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return f"Client({self._shown!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept for further calls."""
        self._sender.close()

    def start(
        self, workflow: str, document: Document, *, key: Optional[str] = None, version: int = 0,
        filename: Optional[str] = None, media_type: str = "", name: str = "", short_description: str = "",
        metadata: Optional[Mapping[str, object]] = None,
    ) -> Started:
        """Starts a run, or finds the one that was started with the same key and the same document.

        ``workflow`` is an id or a slug; ``version`` pins a version, and 0 is the latest. ``document`` is bytes, the
        path of a file, or a file open in mode ``rb``, from its current position to its end; files are streamed.
        ``key`` is the idempotency key; without one the client makes one. Choose one, or keep one with
        :func:`key_from_file`, if the program may crash; an empty one is a :class:`ValueError`. ``filename`` is that of
        the path or file unless it is given.
        """
        form = Form(
            document, repeated=self._retries.attempts > 1, filename=filename, media_type=media_type, name=name,
            short_description=short_description, metadata=metadata,
        )
        path = f"/api/workflows/{_segment(workflow)}/start/" + (f"?version={version}" if version else "")
        return self._create(path, key, form)

    def rerun(self, run_id: str, *, key: Optional[str] = None) -> Started:
        """Starts a new run on the document of an earlier one. Without a key the client makes one."""
        return self._create(_run_path(run_id) + "rerun/", key, None)

    def run(self, run_id: str) -> Run:
        """Reads a run with its steps."""
        return self._get(Run, _run_path(run_id))

    def cancel(self, run_id: str) -> Run:
        """Ends a run that has not ended yet. Canceling it again changes nothing."""
        reply = self._send("POST", _run_path(run_id) + "cancel/")
        return _understood(Run, reply)

    def wait(
        self, run_id: str, *, timeout: Optional[float] = None, on_event: Optional[Callable[[Event], None]] = None
    ) -> Run:
        """Returns the run when it is completed, with its steps.

        It follows the run's events; if the stream fails, it long-polls the run, or polls every second if that is not
        possible. It tolerates a service that does not answer for up to two minutes. ``on_event`` is called once for
        each event. After ``timeout`` seconds it raises :class:`WaitTimeoutError`; the run continues.
        """
        return Wait(self, run_id, _run_path(run_id), timeout, on_event, self._sleep).result()

    def findings(self, run_id: str) -> Iterator[Finding]:
        """Iterates over the findings of a run in their order, and fetches all pages."""
        return self._list(Finding, _run_path(run_id) + "findings/", {})

    def report(self, run_id: str, form: str) -> bytes:
        """Reads the findings of a run as ``text``, ``sarif``, ``junit``, ``github`` or ``csv``."""
        return self._send("GET", _run_path(run_id) + "findings/?" + urlencode({"format": form})).body

    def document(self, run_id: str) -> bytes:
        """Reads the document of a run, byte for byte. One that is no longer kept is refused: ``document_gone``."""
        return self._send("GET", _run_path(run_id) + "document/content/").body

    def document_lines(self, run_id: str, *, first: int = 1, lines: int = 100) -> DocumentWindow:
        """Reads at most 200 lines of a run's document, with the findings on them."""
        return self._get(DocumentWindow, _run_path(run_id) + "document/?" + urlencode({"from": first, "lines": lines}))

    def compare(self, run_id: str) -> Comparison:
        """Compares the findings with those of the previous run of the same workflow on the same file."""
        return self._get(Comparison, _run_path(run_id) + "comparison/")

    def runs(
        self, *, state: str = "", result: str = "", source: str = "", workflow: str = "", search: str = "",
        key: str = "", since: Optional[datetime] = None, until: Optional[datetime] = None,
    ) -> Iterator[Run]:
        """Iterates over the runs of the organization, newest first.

        What is given narrows the list. ``search`` is a part of the key or of the document's name. ``since`` and
        ``until`` bound the time of creation; ``until`` is not included.
        """
        return self._list(Run, "/api/runs/", {
            "state": state, "result": result, "source": source, "workflow": workflow, "q": search,
            "idempotency_key": key, "since": _written(since), "until": _written(until),
        })

    def requests(
        self, *, status: str = "", code: str = "", key: str = "", token: str = "", run: str = "",
        since: Optional[datetime] = None, until: Optional[datetime] = None,
    ) -> Iterator[LoggedRequest]:
        """Iterates over the organization's requests that may change something, newest first.

        What is given narrows the list: ``status`` is ``2xx``, ``3xx``, ``4xx`` or ``5xx``, ``code`` that of a problem,
        and ``token`` and ``run`` are ids.
        """
        return self._list(LoggedRequest, "/api/requests/", {
            "status": status, "code": code, "key": key, "token": token, "run": run,
            "since": _written(since), "until": _written(until),
        })

    def request(self, request_id: str) -> LoggedRequestDetail:
        """Reads a request in the log by its ``id``, which is not its ``request_id``."""
        return self._get(LoggedRequestDetail, f"/api/requests/{_segment(request_id)}/")

    def organization(self) -> OrganizationSettings:
        """Reads the settings of the organization."""
        return self._get(OrganizationSettings, "/api/organization/")

    def change_organization(self, change: OrganizationChange) -> OrganizationSettings:
        """Changes settings of the organization. To repeat it changes nothing."""
        return _understood(OrganizationSettings, self._send("PATCH", "/api/organization/", body=JSON(change)))

    def workflows(self) -> Iterator[Workflow]:
        """Iterates over the workflows of the organization."""
        return self._list(Workflow, "/api/workflows/", {})

    def workflow(self, workflow: str, *, version: int = 0) -> Workflow:
        """Reads a workflow by its id or slug, as of a version; 0 is the latest."""
        path = f"/api/workflows/{_segment(workflow)}/" + (f"?version={version}" if version else "")
        return self._get(Workflow, path)

    def me(self) -> Me:
        """Reads the user, the organization and the role of the token."""
        return self._get(Me, "/api/me/")

    def usage(self) -> Usage:
        """Reads how many runs the organization has used this month."""
        return self._get(Usage, "/api/usage/")

    def _create(self, path: str, key: Optional[str], body: Optional[Body]) -> Started:
        if key == "":
            # An empty variable would otherwise get a new key, and so a new run, with each repetition of the program.
            raise ValueError("the key is empty; leave it out to have one made")
        if key is None:
            key = self._new_key()
        reply = self._send("POST", path, key=key, body=body)
        try:
            run = _decoded(Run, reply.body)
        except ValueError as error:
            raise _retry.unknown_outcome(error, key, reply.attempts) from error
        replayed = reply.headers.get("Idempotent-Replayed") == "true"
        request_id = reply.headers.get("Request-Id", "")
        return Started(
            run=run, key=key, replayed=replayed, expires=_http_date(reply.headers.get("Idempotency-Expires", "")),
            request_id=request_id, attempts=reply.attempts,
            original_request_id=reply.headers.get("Original-Request-Id", "") if replayed else request_id,
        )

    def _get(self, model: Type[T], path: str) -> T:
        return _understood(model, self._send("GET", path))

    def _list(self, model: Type[T], path: str, query: Dict[str, str]) -> Iterator[T]:
        given = {name: value for name, value in query.items() if value}
        following: Optional[str] = path + "?" + urlencode({**given, "page_size": _PAGE_SIZE})
        while following is not None:
            reply = self._send("GET", following)
            try:
                page = json.loads(reply.body)
                items = [models.read(model, item) for item in page["results"]]
                following = page["next"]
                if following is not None and not isinstance(following, str):
                    raise ValueError("next is not an address")
            except (ValueError, TypeError, KeyError) as error:
                raise _foreign(error, reply.attempts) from error
            yield from items

    def _send(self, method: str, path: str, *, key: str = "", body: Optional[Body] = None) -> _Reply:
        """Sends a request, with retries, until it has a final answer."""
        target = self._target(path)
        ends = time.monotonic() + self._retries.budget
        lost = False
        number = 0
        while True:
            number += 1
            reply, failure = self._try(method, path, target, key, body, number)
            if reply is not None:
                return reply
            assert failure is not None
            lost = lost or failure.lost
            pause = self._retries.wait(number, failure.retry_after)
            if not failure.retryable() or pause is None or time.monotonic() + pause > ends:
                raise _retry.conclude(failure, key != "", lost, key, number) from failure.error.__cause__
            _LOG.info(
                "retry %s %s, attempt %d, key %s, in %.3f s: %s", method, path, number, key, pause, failure.error
            )
            self._sleep(pause)

    def _try(
        self, method: str, path: str, target: str, key: str, body: Optional[Body], number: int
    ) -> Tuple[Optional[_Reply], Optional[_retry.Failure]]:
        """Sends a request once."""
        began = time.monotonic()
        status, request_id = 0, ""
        reply: Optional[_Reply] = None
        failure: Optional[_retry.Failure] = None
        try:
            with self._sender.exchange(
                method, target, self._headers(key, body), body.chunks() if body else (),
                body.length if body else 0, self._retries.attempt_timeout,
            ) as answer:
                status, request_id = answer.status, answer.header("Request-Id")
                content = answer.read()
            if 200 <= status < 300:
                reply = _Reply(answer, content, number)
            else:
                failure = _retry.refusal(answer, content, key, number)
        except _retry.INTERRUPTIONS as error:
            status = 0
            failure = _retry.failure_of(error)
        if self._on_attempt is not None:
            took = time.monotonic() - began
            self._on_attempt(Attempt(
                method, path, number, key, status, request_id, failure.error if failure else None, took,
            ))
        return reply, failure

    def _headers(self, key: str, body: Optional[Body]) -> Dict[str, str]:
        headers = {"User-Agent": self._user_agent, "Accept": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if key:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = body.content_type
        return headers

    def _target(self, path: str) -> str:
        """Puts a path behind that of the base URL.

        An address that names a host, as a forged link to a next page could, is refused: it would be sent the token.
        """
        if not path.startswith("/") or path.startswith(("//", "/\\")) or any(not "!" <= one <= "~" for one in path):
            raise ResponseError(f"the address {path!r} is not a path")
        return self._base + path


def _checked(base_url: str) -> SplitResult:
    base = urlsplit(base_url)
    if base.scheme not in ("http", "https") or not base.hostname:
        raise ValueError(f"the URL of the service is {base_url!r}, but must be like https://validations.example")
    if "@" in base.netloc or base.query or base.fragment:
        raise ValueError("the URL of the service must have neither a user, nor a query, nor a fragment")
    return base


def _segment(text: str) -> str:
    """Escapes a part of a path."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no id")
    return quote(text, safe="")


def _run_path(run_id: str) -> str:
    return f"/api/runs/{_segment(run_id)}/"


def _written(at: Optional[datetime]) -> str:
    return "" if at is None else at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _http_date(text: str) -> Optional[datetime]:
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _decoded(model: Type[T], body: bytes) -> T:
    return models.read(model, json.loads(body))


def _understood(model: Type[T], reply: _Reply) -> T:
    try:
        return _decoded(model, reply.body)
    except ValueError as error:
        raise _foreign(error, reply.attempts) from error


def _foreign(error: Exception, attempts: int) -> ResponseError:
    return ResponseError(f"the answer is not that of this service: {error}", attempts=attempts)

