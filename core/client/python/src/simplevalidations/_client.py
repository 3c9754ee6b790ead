"""The clients."""

import copy
import hashlib
import hmac
import json
import ssl
import sys
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Mapping, Optional, TypeVar

from . import _core
from ._core import Answer, Core, Request, Started, run_path, segment
from ._form import Bytes, Document, Form
from ._keys import new_key as _new_key
from ._operations import VERSION, AsyncOperations, Operations
from ._retry import Attempt, Retries
from ._transport import Blocking, Threaded, Transport
from ._wait import RunEvent, Wait, events
from ._wire import Sender
from .models import CallbackReceipt, Run, ValidatorAnswer

T = TypeVar("T")
Self = TypeVar("Self", bound="_Base")


@dataclass(frozen=True)
class SignedCall:
    """A call of an external validator, which was answered with 202."""

    #: The header ``Sv-Receipt`` of the call.
    receipt: str
    #: The header ``Sv-Run`` of the call.
    run: str
    #: The secret of the validator.
    secret: str


class _Base:
    """What a client is made of."""

    def __init__(
        self, base_url: str, token: str = "", *, retries: Optional[Retries] = None, user_agent: str = "",
        ssl_context: Optional[ssl.SSLContext] = None, proxy: Optional[str] = None,
        on_attempt: Optional[Callable[[Attempt], None]] = None, new_key: Callable[[], str] = _new_key,
    ) -> None:
        base = _core.checked(base_url)
        self._sender = Sender(base, ssl_context, proxy)
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        agent = f"{user_agent} simplevalidations-python/{VERSION} (Python {python})".strip()
        self._core = Core(base, token, self._transport(), retries, agent, on_attempt, new_key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._core.shown!r})"

    def with_options(
        self: Self, *, retries: Optional[Retries] = None, on_attempt: Optional[Callable[[Attempt], None]] = None
    ) -> Self:
        """Returns a client with other options, for calls that need them: ``client.with_options(...).start(...)``.

        Both send by the same connections. What is left out stays as it is.
        """
        changed = copy.copy(self)
        changed._core = copy.copy(self._core)
        changed._core.retries = retries or self._core.retries
        changed._core.on_attempt = on_attempt or self._core.on_attempt
        return changed

    def _transport(self) -> Transport:
        raise NotImplementedError

    def _start(
        self, workflow: str, document: Document, key: Optional[str], version: int, filename: Optional[str],
        media_type: str, name: str, short_description: str, metadata: Optional[Mapping[str, object]],
    ) -> Coroutine[Any, Any, Started]:
        form = Form(
            document, repeated=self._core.retries.attempts > 1, filename=filename, media_type=media_type, name=name,
            short_description=short_description, metadata=metadata,
        )
        return self._core.create(Request(
            "POST", f"/api/workflows/{segment(workflow)}/start/", query={"version": version}, body=form, keyed=True,
            key=key, creates=True,
        ))

    def _send(
        self, method: str, path: str, key: Optional[str], body: Optional[object], headers: Mapping[str, str]
    ) -> Request:
        return Request(method, path, json=body, headers=headers, key=key, creates=method == "POST")

    def _report(self, run_id: str, format: str) -> Request:
        return Request("GET", run_path(run_id) + "findings/", query={"format": format})

    def _call_back(self, call: SignedCall, answer: ValidatorAnswer) -> Request:
        content = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
        at = int(time.time())
        signed = f"v2.callback.{at}.{call.receipt}.{call.run}.{hashlib.sha256(content).hexdigest()}"
        sum = hmac.new(call.secret.encode(), signed.encode(), hashlib.sha256).hexdigest()
        return Request(
            "POST", f"/api/callbacks/{segment(call.receipt)}/", body=Bytes("application/json", content),
            headers={"Sv-Signature": f"t={at},v2={sum}"},
        )


class Client(_Base, Operations):
    """Calls one service with one token. Several threads may use a client at once.

    ``base_url`` is like "https://validations.example". ``retries`` says how often and how long calls are tried.
    ``user_agent`` names the calling program in front of the client. ``ssl_context`` says which certificates are
    trusted. ``proxy`` is like "http://proxy.example:3128", and "" is none; without one it is that of the environment,
    as in ``HTTPS_PROXY`` and ``NO_PROXY``. ``on_attempt`` is called with every attempt when it has ended. ``new_key``
    makes the keys of calls without one. Redirects are never followed: they would lose documents and leak the token.
    """

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
        return self._do(self._start(
            workflow, document, key, version, filename, media_type, name, short_description, metadata,
        ))

    def wait(
        self, run_id: str, *, timeout: Optional[float] = None, on_event: Optional[Callable[[RunEvent], None]] = None
    ) -> Run:
        """Returns the run when it is completed, with its steps.

        It follows the run's events; if the stream fails, it long-polls the run, or polls every second if that is not
        possible. It tolerates a service that does not answer for up to two minutes. ``on_event`` is called once for
        each event. After ``timeout`` seconds it raises :class:`WaitTimeoutError`; the run continues.
        """
        return self._do(Wait(self._core, run_id, timeout, on_event).result())

    def events(self, run_id: str, *, after: str = "") -> Iterator[RunEvent]:
        """Iterates over the events of a run, from its first one or from that after the given id.

        It ends when the run has ended, or when the stream does, which the service ends after some minutes.
        :meth:`wait` then continues by itself.
        """
        return _core.iterate(events(self._core, run_id, after))

    def report(self, run_id: str, format: str) -> bytes:
        """Reads the findings of a run as ``text``, ``sarif``, ``junit``, ``github`` or ``csv``."""
        return self._do(self._core.content(self._report(run_id, format)))

    def call_back(self, call: SignedCall, answer: ValidatorAnswer) -> CallbackReceipt:
        """Sends the result of a call that an external validator has answered with 202, signed with its secret.

        The client needs no token for it. The first result counts, so repeating it changes nothing.
        """
        return self._do(self._core.read(CallbackReceipt, self._call_back(call, answer)))

    def send(
        self, method: str, path: str, *, key: Optional[str] = None, json: Optional[object] = None,
        headers: Mapping[str, str] = {},
    ) -> Answer:
        """Sends a request that no other method sends, or whose answer is wanted as it came, with its headers.

        It is tried again in the same way. A ``POST`` whose answer gets lost is sent again only if there is a key.
        """
        return self._do(self._core.send(self._send(method, path, key, json, headers)))[0]

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return _core.run(work)

    def _transport(self) -> Transport:
        return Blocking(self._sender)


class AsyncClient(_Base, AsyncOperations):
    """The client for asyncio. Its methods are those of :class:`Client`, and are awaited.

    Requests are sent in the threads of ``asyncio.to_thread``; events and waits need none. A call that is canceled ends
    at once, and what its request does on the service goes on: a start that was canceled may have started a run, which
    the same call with the same key finds.
    """

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept for further calls."""
        self._sender.close()

    async def start(
        self, workflow: str, document: Document, *, key: Optional[str] = None, version: int = 0,
        filename: Optional[str] = None, media_type: str = "", name: str = "", short_description: str = "",
        metadata: Optional[Mapping[str, object]] = None,
    ) -> Started:
        return await self._start(
            workflow, document, key, version, filename, media_type, name, short_description, metadata,
        )

    async def wait(
        self, run_id: str, *, timeout: Optional[float] = None, on_event: Optional[Callable[[RunEvent], None]] = None
    ) -> Run:
        return await Wait(self._core, run_id, timeout, on_event).result()

    def events(self, run_id: str, *, after: str = "") -> AsyncIterator[RunEvent]:
        return events(self._core, run_id, after)

    async def report(self, run_id: str, format: str) -> bytes:
        return await self._core.content(self._report(run_id, format))

    async def call_back(self, call: SignedCall, answer: ValidatorAnswer) -> CallbackReceipt:
        return await self._core.read(CallbackReceipt, self._call_back(call, answer))

    async def send(
        self, method: str, path: str, *, key: Optional[str] = None, json: Optional[object] = None,
        headers: Mapping[str, str] = {},
    ) -> Answer:
        return (await self._core.send(self._send(method, path, key, json, headers)))[0]

    def _transport(self) -> Transport:
        return Threaded(self._sender)
