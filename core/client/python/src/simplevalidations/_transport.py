"""How requests are sent: by the thread that calls, or by asyncio."""

import asyncio
import http.client
import io
import ssl
import time
from typing import AsyncIterator, Callable, Mapping, Optional, Protocol

from ._form import Body
from ._wire import Reply, Sender, Unsent

MAX_LINE = 1 << 20


class NoStream(Exception):
    """Something else than a stream was answered."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"there is no stream of events: status {reply.status}")
        self.reply = reply


class Transport(Protocol):
    """What the coroutines of the client wait for."""

    #: How many seconds a read may be asked to wait for the end of a run.
    patience: int

    async def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: Optional[Body], seconds: float
    ) -> Reply:
        """Sends a request and reads the whole answer."""

    def lines(self, target: str, headers: Mapping[str, str], silence: float) -> AsyncIterator[bytes]:
        """Yields the lines of a stream of events, or raises NoStream. It may be silent for so many seconds."""

    async def sleep(self, seconds: float) -> None:
        """Waits."""


class Blocking:
    """Blocks the thread."""

    patience = 20

    def __init__(self, sender: Sender, sleep: Callable[[float], None] = time.sleep) -> None:
        self.sender = sender
        self._sleep = sleep

    async def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: Optional[Body], seconds: float
    ) -> Reply:
        return exchange(self.sender, method, target, headers, body, seconds)

    async def lines(self, target: str, headers: Mapping[str, str], silence: float) -> AsyncIterator[bytes]:
        with self.sender.exchange("GET", target, headers, (), 0, silence, silence) as answer:
            if not _is_stream(answer):
                raise NoStream(answer.read())
            for line in answer.lines(MAX_LINE):
                yield line

    async def sleep(self, seconds: float) -> None:
        self._sleep(seconds)


class Threaded:
    """Sends each request in a thread of asyncio, and reads streams without one.

    A wait for a run therefore holds a thread only while it sends a short request: thousands may be under way at once.
    """

    # A patient read would hold a thread for as long.
    patience = 0

    def __init__(self, sender: Sender) -> None:
        self.sender = sender

    async def exchange(
        self, method: str, target: str, headers: Mapping[str, str], body: Optional[Body], seconds: float
    ) -> Reply:
        return await asyncio.to_thread(exchange, self.sender, method, target, headers, body, seconds)

    async def lines(self, target: str, headers: Mapping[str, str], silence: float) -> AsyncIterator[bytes]:
        sender = self.sender
        connected = await asyncio.to_thread(sender.connect, time.monotonic() + silence)
        connected.setblocking(False)
        name = sender.host if sender.context else None
        try:
            reader, writer = await asyncio.wait_for(asyncio.open_connection(
                sock=connected, ssl=sender.context, server_hostname=name, limit=MAX_LINE,
            ), silence)
        except ssl.SSLError as broken:
            raise Unsent(broken, final=True) from broken
        try:
            fields = {"Host": sender.authority, "Connection": "close", **headers, **sender.extra}
            head = [f"GET {sender.prefix}{target} HTTP/1.1", *(f"{field}: {value}" for field, value in fields.items())]
            writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
            status, _, rest = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), silence)).partition(b"\r\n")
            reply = Reply(int(status.split(b" ")[1]), http.client.parse_headers(io.BytesIO(rest)))
            if not _is_stream(reply):
                reply.content = await asyncio.wait_for(reader.read(MAX_LINE), silence)
                raise NoStream(reply)
            chunked = reply.header("Transfer-Encoding").lower() == "chunked"
            async for line in _lines(reader, chunked, silence):
                yield line
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.TimeoutError, ValueError) as broken:
            raise ConnectionError(f"the stream of events broke: {broken!r}") from broken
        finally:
            writer.close()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def exchange(
    sender: Sender, method: str, target: str, headers: Mapping[str, str], body: Optional[Body], seconds: float
) -> Reply:
    chunks, length = (body.chunks(), body.length) if body else ((), 0)
    with sender.exchange(method, target, headers, chunks, length, seconds) as answer:
        return answer.read()


def _is_stream(reply: Reply) -> bool:
    return reply.status == 200 and reply.media_type() == "text/event-stream"


async def _lines(reader: asyncio.StreamReader, chunked: bool, silence: float) -> AsyncIterator[bytes]:
    rest = b""
    while True:
        if chunked:
            size = int((await asyncio.wait_for(reader.readline(), silence)).split(b";")[0], 16)
            part = (await asyncio.wait_for(reader.readexactly(size + 2), silence))[:size]
        else:
            part = await asyncio.wait_for(reader.read(MAX_LINE), silence)
        if not part:
            return
        *lines, rest = (rest + part).split(b"\n")
        if len(rest) > MAX_LINE:
            raise ValueError("a line is too long")
        for line in lines:
            yield line + b"\n"
