"""What the client that blocks and the one that is awaited share.

It is written once, as coroutines. All that they wait for is a transport. One blocks the thread, so that its coroutines
never stop and :func:`run` takes them to their end at once; the other belongs to asyncio.
"""

import json as _json
import logging
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.message import Message
from typing import (
    Any, AsyncIterator, Callable, Coroutine, Dict, Generic, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar,
)
from urllib.parse import SplitResult, quote, urlencode, urlsplit

from . import _decode, _retry
from ._form import Body, Bytes
from ._keys import new_key as _new_key
from ._retry import Attempt, Retries
from ._transport import Transport
from ._wire import Reply
from .errors import ResponseError
from .models import Run

T = TypeVar("T")

_LOG = logging.getLogger("simplevalidations")


@dataclass(frozen=True)
class Request:
    """A call in a form that can be sent several times."""

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    #: What becomes the body.
    json: Optional[object] = None
    file: Optional[bytes] = None
    body: Optional[Body] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Whether the call takes a key. Without one the client makes one.
    keyed: bool = False
    key: Optional[str] = None
    #: Whether carrying the call out twice would do its work twice.
    creates: bool = False
    if_match: str = ""


@dataclass(frozen=True)
class Answer:
    """A success as it came."""

    status: int
    #: The headers, whatever the case of their names.
    headers: Message
    content: bytes
    #: How often the request was sent.
    attempts: int

    def json(self) -> Any:
        """Reads the content as JSON."""
        return _json.loads(self.content)


@dataclass(frozen=True)
class Started:
    """The result of a start or a rerun."""

    #: The run as it was when it was started, also in a replay.
    run: Run
    #: The idempotency key that all attempts had.
    key: str
    #: Whether the run had been started before with this key.
    replayed: bool = False
    #: When the key expires. Until then a retry finds this run.
    expires: Optional[datetime] = None
    request_id: str = ""
    #: The id of the request that started the run.
    original_request_id: str = ""
    #: How often the request was sent.
    attempts: int = 0


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list."""

    results: List[T]
    #: The addresses of the pages beside this one, for ``page`` of the list; None at the ends.
    next: Optional[str] = None
    previous: Optional[str] = None


class Core:
    """Sends the requests of one client."""

    def __init__(
        self, base: SplitResult, token: str, transport: Transport, retries: Optional[Retries], user_agent: str,
        on_attempt: Optional[Callable[[Attempt], None]], new_key: Callable[[], str],
    ) -> None:
        if any(not "!" <= letter <= "~" for letter in token):
            raise ValueError("the token has characters that no token has")
        self.shown = base.geturl()
        self.retries = retries or Retries()
        self.on_attempt = on_attempt
        self.transport = transport
        self._user_agent = user_agent
        self._base = base.path.rstrip("/")
        self._token = token
        self._new_key = new_key

    async def read(self, model: Type[T], request: Request) -> T:
        return (await self._read(model, request))[0]

    async def content(self, request: Request) -> bytes:
        return (await self.send(request))[0].content

    async def done(self, request: Request) -> None:
        await self.send(request)

    async def create(self, request: Request) -> Started:
        run, answer, key = await self._read(Run, request)
        replayed = answer.headers.get("Idempotent-Replayed") == "true"
        request_id = answer.headers.get("Request-Id", "")
        return Started(
            run=run, key=key, replayed=replayed, expires=_http_date(answer.headers.get("Idempotency-Expires", "")),
            request_id=request_id, attempts=answer.attempts,
            original_request_id=answer.headers.get("Original-Request-Id", "") if replayed else request_id,
        )

    async def page(self, model: Type[T], path: str, query: Mapping[str, object], address: Optional[str]) -> "Page[T]":
        first = address is None
        answer, _ = await self.send(Request("GET", path if address is None else address, query if first else {}))
        try:
            read = answer.json()
            results = [_decode.read(model, item) for item in read["results"]]
            beside = [read["next"], read.get("previous")]
            if not all(one is None or isinstance(one, str) for one in beside):
                raise ValueError("next is not an address")
            return Page(results, *beside)
        except (ValueError, TypeError, KeyError) as error:
            raise _foreign(error, answer.attempts) from error

    async def items(self, model: Type[T], path: str, query: Mapping[str, object]) -> AsyncIterator[T]:
        page = await self.page(model, path, query, None)
        while True:
            for item in page.results:
                yield item
            if page.next is None:
                return
            page = await self.page(model, path, query, page.next)

    async def send(self, request: Request) -> Tuple[Answer, str]:
        """Sends a request, with retries, until it has a final answer. Returns it with the key that was sent."""
        key, body, path = self._key(request), _body(request), request.path + _written(request.query)
        safe, creates = bool(key) or not request.creates, request.creates
        target, headers = self.target(path), self.headers(request, key, body)
        ends = time.monotonic() + self.retries.budget
        lost = False
        number = 0
        while True:
            number += 1
            answer, failure = await self._try(request.method, path, target, headers, key, body, number)
            if answer is not None:
                return answer, key
            assert failure is not None
            lost = lost or failure.lost
            pause = self.retries.wait(number, failure.retry_after)
            if not failure.retryable(safe) or pause is None or time.monotonic() + pause > ends:
                error = _retry.conclude(failure, creates, lost, key, number, self.shown)
                raise error from failure.error.__cause__
            _LOG.info(
                "retry %s %s, attempt %d, key %s, in %.3f s: %s",
                request.method, path, number, key, pause, failure.error,
            )
            await self.transport.sleep(pause)

    async def _try(
        self, method: str, path: str, target: str, headers: Mapping[str, str], key: str, body: Optional[Body],
        number: int,
    ) -> Tuple[Optional[Answer], Optional[_retry.Failure]]:
        """Sends a request once."""
        began = time.monotonic()
        reply: Optional[Reply] = None
        failure: Optional[_retry.Failure] = None
        try:
            reply = await self.transport.exchange(method, target, headers, body, self.retries.attempt_timeout)
            if not 200 <= reply.status < 300:
                failure = _retry.refusal(reply, key, number)
        except _retry.INTERRUPTIONS as error:
            failure = _retry.failure_of(error)
        if self.on_attempt is not None:
            self.on_attempt(Attempt(
                method, path, number, key, reply.status if reply else 0, reply.header("Request-Id") if reply else "",
                failure.error if failure else None, time.monotonic() - began,
            ))
        if reply is None or failure is not None:
            return None, failure
        return Answer(reply.status, reply.headers, reply.content, number), None

    async def _read(self, model: Type[T], request: Request) -> Tuple[T, Answer, str]:
        answer, key = await self.send(request)
        try:
            return _decode.read(model, answer.json()), answer, key
        except ValueError as error:
            if request.creates:
                raise _retry.unknown_outcome(error, key, answer.attempts) from error
            raise _foreign(error, answer.attempts) from error

    def _key(self, request: Request) -> str:
        if request.key == "":
            # An empty variable would otherwise get a new key, and so a new run, with each repetition of the program.
            raise ValueError("the key is empty; leave it out to have one made")
        return request.key or (self._new_key() if request.keyed else "")

    def headers(self, request: Request, key: str, body: Optional[Body]) -> Dict[str, str]:
        headers = {"User-Agent": self._user_agent, "Accept": "application/json", **request.headers}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if key:
            headers["Idempotency-Key"] = key
        if request.if_match:
            headers["If-Match"] = request.if_match
        if body is not None:
            headers["Content-Type"] = body.content_type
        return headers

    def target(self, path: str) -> str:
        """Puts a path behind that of the base URL.

        An address that names a host, as a forged link to a next page could, is refused: it would be sent the token.
        """
        if not path.startswith("/") or path.startswith(("//", "/\\")) or any(not "!" <= one <= "~" for one in path):
            raise ResponseError(f"the address {path!r} is not a path")
        return self._base + path


class Pages(Generic[T]):
    """A list that the service answers page by page. It is read while it is gone through."""

    def __init__(self, core: Core, model: Type[T], path: str, query: Mapping[str, object]) -> None:
        self._core, self._model, self._path, self._query = core, model, path, query

    def __iter__(self) -> Iterator[T]:
        return iterate(self._core.items(self._model, self._path, self._query))

    def page(self, address: Optional[str] = None) -> "Page[T]":
        """Reads one page: that of an address in another page, or the first one."""
        return run(self._core.page(self._model, self._path, self._query, address))


class AsyncPages(Generic[T]):
    """The same for ``async for``."""

    def __init__(self, core: Core, model: Type[T], path: str, query: Mapping[str, object]) -> None:
        self._core, self._model, self._path, self._query = core, model, path, query

    def __aiter__(self) -> AsyncIterator[T]:
        return self._core.items(self._model, self._path, self._query)

    async def page(self, address: Optional[str] = None) -> "Page[T]":
        """Reads one page: that of an address in another page, or the first one."""
        return await self._core.page(self._model, self._path, self._query, address)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine whose transport blocks, and which therefore never stops before its end."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise RuntimeError("a call that blocks has waited for an event loop")


def iterate(items: AsyncIterator[T]) -> Iterator[T]:
    """Iterates over what coroutines like those of :func:`run` yield."""

    async def step() -> T:
        return await items.__anext__()

    async def close() -> None:
        await items.aclose()  # type: ignore[attr-defined]

    try:
        while True:
            try:
                item = run(step())
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(close())


def checked(base_url: str) -> SplitResult:
    base = urlsplit(base_url)
    if base.scheme not in ("http", "https") or not base.hostname:
        raise ValueError(f"the URL of the service is {base_url!r}, but must be like https://validations.example")
    if "@" in base.netloc or base.query or base.fragment:
        raise ValueError("the URL of the service must have neither a user, nor a query, nor a fragment")
    return base


def segment(text: str) -> str:
    """Escapes a part of a path."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no id")
    return quote(text, safe="")


def run_path(run_id: str) -> str:
    return f"/api/runs/{segment(run_id)}/"


def _written(query: Mapping[str, object]) -> str:
    given = {}
    for name, value in query.items():
        if isinstance(value, datetime):
            given[name] = value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
        elif value:
            given[name] = str(value)
    return "?" + urlencode(given) if given else ""


def _body(request: Request) -> Optional[Body]:
    if request.file is not None:
        return Bytes("application/yaml", request.file)
    if request.json is not None:
        text = _json.dumps(request.json, ensure_ascii=False, allow_nan=False)
        return Bytes("application/json", text.encode())
    return request.body


def _http_date(text: str) -> Optional[datetime]:
    try:
        return datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _foreign(error: Exception, attempts: int) -> ResponseError:
    return ResponseError(f"the answer is not that of this service: {error}", attempts=attempts)
