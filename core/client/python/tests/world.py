"""What several tests need."""

import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator, List

from simplevalidations import Client, Retries

RUN = "0199e0a4-51c0-7f0a-8a4e-0f3c5d7b9a11"
#: What a client has that does not wait.
SOON = Retries(min_wait=0.0, max_wait=0.0)
SOURCES = Path(__file__).resolve().parent.parent


@contextmanager
def raw_server(*talks: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serves each connection by the next of the talks, and the last one again and again. Yields the base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: List[socket.socket] = []

    def serve() -> None:
        number = 0
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            talk = talks[min(number, len(talks) - 1)]
            number += 1
            threading.Thread(target=talked, args=(talk, connection), daemon=True).start()

    def talked(talk: Callable[[socket.socket], None], connection: socket.socket) -> None:
        try:
            talk(connection)
        except OSError:
            pass  # The client has gone.
        finally:
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            connection.close()
        thread.join()


def read_request(connection: socket.socket) -> bytes:
    """Reads a whole request with a Content-Length."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += received(connection)
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += received(connection)
    return head + b"\r\n\r\n" + body


def received(connection: socket.socket) -> bytes:
    got = connection.recv(65536)
    if not got:
        raise ConnectionError("the client has gone")
    return got


def response(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def client_of(url: str, retries: Retries = SOON) -> Client:
    return Client(url, "sv_secret", retries=retries)
