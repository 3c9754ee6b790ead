"""Requests over HTTP/1.1 with deadlines.

``http.client`` alone would not do: its time limit is for each read and write, so an attempt could last for ever, and it
sends a whole request before it looks for an answer, so a refusal that comes early would be lost with the connection.
"""

import base64
import http.client
import io
import selectors
import socket
import ssl
import threading
import time
import urllib.request
from contextlib import contextmanager
from email.message import Message
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union
from urllib.parse import SplitResult, unquote, urlsplit

MAX_ANSWER = 256 << 20
# Idle connections are kept no longer than common proxies keep them.
IDLE_SECONDS = 20.0
MAX_IDLE = 32
_PART = 64 << 10


class Unsent(Exception):
    """There was not even a connection."""

    def __init__(self, cause: Exception, final: bool) -> None:
        super().__init__(str(cause))
        self.cause = cause
        #: Whether another attempt would fail alike.
        self.final = final


class Wire:
    """A connected socket whose every operation ends with the deadline. It is never blocking."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.deadline = 0.0
        #: If not None, each read moves the deadline to this many seconds later.
        self.patience: Optional[float] = None
        self._socket = connected
        self._selector = selectors.DefaultSelector()
        self._selector.register(connected, selectors.EVENT_READ)
        # What came while something was sent.
        self._early: Optional[bytes] = None
        self._reader_open = False
        self._closing = False

    # http.client calls these three.

    def sendall(self, content: bytes) -> None:
        self.send(content)

    def makefile(self, mode: str) -> io.BufferedReader:
        self._reader_open = True
        return io.BufferedReader(_Reader(self), _PART)

    def close(self) -> None:
        """Closes the socket when the answer has been read as well."""
        self._closing = True
        if not self._reader_open:
            self.shut()

    def reader_closed(self) -> None:
        self._reader_open = False
        if self._closing:
            self.shut()

    def shut(self) -> None:
        """Closes the socket at once."""
        self._selector.close()
        self._socket.close()

    def send(self, content: bytes) -> bool:
        """Sends the content, and returns whether an answer or the end has come meanwhile."""
        left = memoryview(content)
        while left:
            if self._await(selectors.EVENT_READ | selectors.EVENT_WRITE) & selectors.EVENT_READ and self._peek():
                return True
            try:
                left = left[self._socket.send(left):]
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
        return False

    def receive(self, size: int) -> bytes:
        if self._early is not None:
            early, rest = self._early[:size], self._early[size:]
            # b"" is the end, and comes again.
            self._early = rest or (None if early else b"")
            return early
        while True:
            try:
                received = self._socket.recv(size)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._await(selectors.EVENT_READ)
            except ssl.SSLWantWriteError:
                self._await(selectors.EVENT_WRITE)
            else:
                if self.patience is not None:
                    self.deadline = time.monotonic() + self.patience
                return received

    def is_stale(self) -> bool:
        """Returns whether an idle connection has been closed, or says something that nobody asked for."""
        return bool(self._poll(selectors.EVENT_READ, 0)) and self._peek()

    def _peek(self) -> bool:
        """Returns whether something has come. TLS has messages of its own, which do not count."""
        try:
            self._early = self._socket.recv(_PART)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return False
        except OSError:
            self._early = b""
        return True

    def _await(self, events: int) -> int:
        left = self.deadline - time.monotonic()
        ready = self._poll(events, left) if left > 0 else 0
        if not ready:
            raise socket.timeout("the attempt took too long")
        return ready

    def _poll(self, events: int, seconds: float) -> int:
        self._selector.modify(self._socket, events)
        found = self._selector.select(seconds)
        return found[0][1] if found else 0


class _Reader(io.RawIOBase):
    """Reads the answer."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Union[bytearray, memoryview]") -> int:  # type: ignore[override]
        received = self._wire.receive(len(buffer))
        buffer[: len(received)] = received
        return len(received)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._wire.reader_closed()


class Reply:
    """The head of an answer, and its body if it was read."""

    def __init__(self, status: int, headers: Message, content: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        self.content = content

    def header(self, name: str) -> str:
        return str(self.headers.get(name, ""))

    def media_type(self) -> str:
        return self.header("Content-Type").partition(";")[0].strip().lower()


class Answer(Reply):
    """An answer whose body may not have been read yet."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        super().__init__(response.status, response.headers)
        self._response = response

    def read(self) -> Reply:
        """Reads the body. One that is shorter than its head says raises an error."""
        body = self._response.read(MAX_ANSWER)
        # read() with a size does not say so itself.
        if not self._response.isclosed() or self._response.length:
            raise http.client.IncompleteRead(body)
        return Reply(self.status, self.headers, body)

    def lines(self, longest: int) -> Iterator[bytes]:
        """Yields the lines of the body until it ends or breaks."""
        while True:
            line = self._response.readline(longest)
            if not line.endswith(b"\n"):
                return
            yield line

    def is_complete(self) -> bool:
        return self._response.isclosed()


class Sender:
    """Sends requests to one service. Several threads may use it at once."""

    def __init__(self, base: SplitResult, context: Optional[ssl.SSLContext], proxy: Optional[str]) -> None:
        self.host = base.hostname or ""
        self._port = base.port or (443 if base.scheme == "https" else 80)
        self.authority = base.netloc
        self.context: Optional[ssl.SSLContext] = None
        if base.scheme == "https":
            self.context = context or ssl.create_default_context()
        self._proxy = proxy_of(base, proxy)
        #: What a proxy that reads the request needs of it: the whole address, and who sends it.
        self.prefix, self.extra = "", {}
        if self._proxy is not None and self.context is None:
            self.prefix, self.extra = f"http://{self.authority}", authorization(self._proxy)
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection, Wire]] = []

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection, wire in idle:
            connection.close()
            wire.shut()

    @contextmanager
    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: Iterable[bytes], length: Optional[int],
        seconds: float, silence: Optional[float] = None,
    ) -> Iterator[Answer]:
        """Sends a request and yields the answer as soon as its head is there. Redirects are answers like all others.

        All of it may take that many seconds. With a silence only the time without a sign of life is limited.
        """
        deadline = time.monotonic() + seconds
        connection, wire = self._connection(deadline)
        wire.deadline, wire.patience = deadline, None
        keep = False
        try:
            early = self._send(connection, wire, method, target, headers, body, length)
            answer = Answer(connection.getresponse())
            wire.patience = silence
            yield answer
            keep = answer.is_complete() and not early and answer.header("Connection").lower() != "close"
        finally:
            if keep:
                self._put(connection, wire)
            else:
                connection.close()
                wire.shut()

    def _send(
        self, connection: http.client.HTTPConnection, wire: Wire, method: str, target: str,
        headers: Mapping[str, str], body: Iterable[bytes], length: Optional[int],
    ) -> bool:
        """Sends a request, and returns whether it ended before all was sent."""
        connection.putrequest(method, self.prefix + target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", self.authority)
        for name, value in {**headers, **self.extra}.items():
            connection.putheader(name, value)
        if length is None:
            connection.putheader("Transfer-Encoding", "chunked")
        elif length or method != "GET":
            connection.putheader("Content-Length", str(length))
        try:
            connection.endheaders()
            for chunk in body:
                if length is None:
                    chunk = b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunk else b""
                if wire.send(chunk):
                    return True
            if length is None:
                wire.send(b"0\r\n\r\n")
        except (ConnectionError, ssl.SSLError):
            # The answer may have come before the connection broke.
            return True
        return False

    def _connection(self, deadline: float) -> Tuple[http.client.HTTPConnection, Wire]:
        while True:
            with self._lock:
                if not self._idle:
                    break
                since, connection, wire = self._idle.pop()
            if time.monotonic() - since < IDLE_SECONDS and not wire.is_stale():
                return connection, wire
            connection.close()
            wire.shut()
        try:
            return self._connect(deadline)
        except ssl.SSLError as broken:
            interrupted = isinstance(broken, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError))
            raise Unsent(broken, final=not interrupted) from broken
        except OSError as broken:
            raise Unsent(broken, final=False) from broken

    def connect(self, deadline: float) -> socket.socket:
        """Connects with the service, through the proxy if there is one. TLS comes afterwards."""
        host, port = self.host, self._port
        if self._proxy is not None:
            host, port = self._proxy.hostname or "", self._proxy.port or 80
        connected = socket.create_connection((host, port), max(0.001, deadline - time.monotonic()))
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._proxy is not None and self.context is not None:
                self._tunnel(connected, authorization(self._proxy))
            connected.settimeout(max(0.001, deadline - time.monotonic()))
        except BaseException:
            connected.close()
            raise
        return connected

    def _tunnel(self, connected: socket.socket, headers: Mapping[str, str]) -> None:
        """Has the proxy pass everything on. The service says nothing before the client does."""
        address = f"{f'[{self.host}]' if ':' in self.host else self.host}:{self._port}"
        fields = "".join(f"{name}: {value}\r\n" for name, value in {"Host": address, **headers}.items())
        connected.sendall(f"CONNECT {address} HTTP/1.1\r\n{fields}\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = connected.recv(_PART)
            if not part or len(head) > _PART:
                raise ConnectionError("the proxy ended the connection")
            head += part
        if head.split(b" ", 2)[1:2] != [b"200"]:
            raise ConnectionError(f"the proxy answered {head.splitlines()[0].decode('latin-1')}")

    def _connect(self, deadline: float) -> Tuple[http.client.HTTPConnection, Wire]:
        connected = self.connect(deadline)
        try:
            if self.context is not None:
                connected = self.context.wrap_socket(connected, server_hostname=self.host)
            wire = Wire(connected)
        except BaseException:
            connected.close()
            raise
        connection = http.client.HTTPConnection(self.host, self._port)
        connection.auto_open = 0
        connection.sock = wire
        return connection, wire

    def _put(self, connection: http.client.HTTPConnection, wire: Wire) -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle) < MAX_IDLE:
                self._idle.append((time.monotonic(), connection, wire))
                return
        connection.close()
        wire.shut()


def proxy_of(base: SplitResult, proxy: Optional[str]) -> Optional[SplitResult]:
    """Returns the address of the proxy that was set, or that the environment has for the service."""
    if proxy is None and not urllib.request.proxy_bypass(base.hostname or ""):
        proxy = urllib.request.getproxies().get(base.scheme)
    if not proxy:
        return None
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if address.scheme != "http" or not address.hostname:
        raise ValueError("the proxy must be like http://proxy.example:3128")
    return address


def authorization(proxy: SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(user.encode()).decode()}
