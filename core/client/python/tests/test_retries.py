import logging
import pickle
import socket
import time
import unittest
from typing import List

from simplevalidations import (
    Attempt,
    Client,
    DocumentError,
    RefusedError,
    ResponseError,
    Retries,
    UnknownOutcomeError,
    UnreachableError,
)
from simplevalidations import _retry
from simplevalidations.testing import FakeServer

from .world import RUN, SOON, client_of, raw_server, read_request, response


class RetriesTest(unittest.TestCase):
    def test_waits_have_full_jitter_and_a_limit(self) -> None:
        retries = Retries(attempts=2000, min_wait=0.25, max_wait=8.0)
        for number, limit in ((1, 0.25), (2, 0.5), (3, 1.0), (6, 8.0), (7, 8.0), (1999, 8.0)):
            waits = [retries.wait(number, 0) or 0.0 for _ in range(400)]
            self.assertLessEqual(max(waits), limit)
            self.assertLess(min(waits), limit / 4)
            self.assertGreater(max(waits), limit * 3 / 4)

    def test_a_wait_that_is_asked_for_is_a_lower_bound(self) -> None:
        waits = [Retries().wait(1, 60) or 0.0 for _ in range(100)]
        self.assertGreaterEqual(min(waits), 60)
        self.assertIsNone(Retries().wait(1, 60.5))
        self.assertIsNone(Retries(attempts=3).wait(3, 0))

    def test_retry_after_is_a_number_or_a_date(self) -> None:
        self.assertEqual(_retry.retry_after("7"), 7)
        self.assertEqual(_retry.retry_after("-7"), 0)
        self.assertEqual(_retry.retry_after("Mon, 02 Mar 2020 09:15:04 GMT"), 0)
        self.assertGreater(_retry.retry_after("Fri, 31 Dec 2100 00:00:00 GMT") or 0, 1e9)
        for text in ("", "soon", "1.5", "Mon, 99 Mar 2020"):
            self.assertIsNone(_retry.retry_after(text))

    def test_nobody_there(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with self.assertRaises(UnreachableError) as caught:
            client_of(url).start("w", b"a")
        self.assertEqual(caught.exception.attempts, 4)
        self.assertTrue(caught.exception.key)

    def test_the_budget_ends_a_call(self) -> None:
        with FakeServer() as server:
            server.busy(100)
            client = client_of(server.url, Retries(attempts=100, min_wait=0.0, max_wait=0.0, budget=0.5))
            with self.assertRaises(RefusedError) as caught:
                client.start("w", b"a")
        self.assertEqual((caught.exception.attempts, caught.exception.retry_after), (1, 1.0))

    def test_an_answer_that_trickles_in_ends_with_the_attempt(self) -> None:
        def trickle(connection: socket.socket) -> None:
            read_request(connection)
            connection.sendall(b"HTTP/1.1 201 Created\r\n")
            while True:
                connection.sendall(b"X-Slow: 1\r\n")
                time.sleep(0.05)

        with raw_server(trickle) as url:
            client = client_of(url, Retries(attempts=1, attempt_timeout=0.5))
            with self.assertRaises(UnknownOutcomeError):
                client.start("w", b"a")

    def test_a_document_that_nobody_reads_ends_with_the_attempt(self) -> None:
        def stall(connection: socket.socket) -> None:
            time.sleep(5)

        with raw_server(stall) as url:
            client = client_of(url, Retries(attempts=1, attempt_timeout=0.3))
            with self.assertRaises(UnknownOutcomeError):
                client.start("w", b"a" * (32 << 20))

    def test_an_early_refusal_is_read_while_the_document_is_sent(self) -> None:
        body = b'{"code": "payload_too_large", "status": 413, "detail": "Too large.", "retryable": false}'

        def refuse(connection: socket.socket) -> None:
            connection.recv(1000)
            connection.sendall(response(413, body, "Content-Type: application/problem+json"))
            # The rest is never read, and the connection stays open: only who listens while sending gets on.
            time.sleep(5)

        with raw_server(refuse) as url:
            with self.assertRaises(RefusedError) as caught:
                client_of(url).start("w", b"a" * (32 << 20))
        self.assertEqual((caught.exception.code, caught.exception.attempts), ("payload_too_large", 1))

    def test_a_connection_is_used_again_unless_it_is_stale(self) -> None:
        connections: List[int] = []

        def two(connection: socket.socket) -> None:
            connections.append(1)
            for _ in range(2):
                read_request(connection)
                connection.sendall(response(200, b'{"id": "%s"}' % RUN.encode()))
            # It ends here without a word, as idle connections do.

        with raw_server(two) as url, client_of(url, Retries(attempts=1)) as client:
            client.run(RUN)
            client.run(RUN)
            self.assertEqual(len(connections), 1)
            deadline = time.monotonic() + 10
            while not client._sender._idle[0][2].is_stale() and time.monotonic() < deadline:
                time.sleep(0.01)
            client.run(RUN)
            self.assertEqual(len(connections), 2)

    def test_a_lost_answer_leaves_the_outcome_open(self) -> None:
        with FakeServer() as server:
            server.drop_responses(1)
            with self.assertRaises(UnknownOutcomeError) as caught:
                client_of(server.url, Retries(attempts=1)).start("w", b"a", key="order-1")
            self.assertIn("retry with key order-1", str(caught.exception))
            again = client_of(server.url).start("w", b"a", key="order-1")
            self.assertTrue(again.replayed)
            self.assertEqual(len(server.runs), 1)

    def test_errors_can_be_pickled(self) -> None:
        refused = RefusedError(status=422, code="idempotency_key_reused", detail="No.", key="k", attempts=2)
        copy = pickle.loads(pickle.dumps(refused))
        self.assertEqual((str(copy), copy.__dict__), (str(refused), refused.__dict__))


class SecretsTest(unittest.TestCase):
    def test_nothing_shows_the_token(self) -> None:
        attempts: List[Attempt] = []
        with FakeServer() as server, self.assertLogs("simplevalidations", logging.INFO) as logs:
            server.fail(1, status=503, code="unavailable", retryable=True)
            server.fail(1, status=401, code="not_authenticated")
            client = Client(server.url, "sv_secret", retries=SOON, on_attempt=attempts.append, new_key=lambda: "mine")
            with self.assertRaises(RefusedError) as caught:
                client.start("w", b"document")
        shown = f"{client!r} {client} {caught.exception!r} {caught.exception.__dict__} {attempts} {logs.output}"
        self.assertNotIn("sv_secret", shown)
        self.assertEqual([(one.number, one.status, one.key) for one in attempts], [(1, 503, "mine"), (2, 401, "mine")])
        self.assertEqual(len(logs.output), 1)

    def test_addresses_and_tokens_that_are_none_are_refused(self) -> None:
        for url in ("", "validations.example", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b", "http://x/#a"):
            with self.assertRaises(ValueError, msg=url):
                Client(url)
        with self.assertRaises(ValueError) as caught:
            Client("http://x", "sv_secret\r\nX-Evil: 1")
        self.assertNotIn("sv_secret", str(caught.exception))

    def test_a_path_cannot_be_left(self) -> None:
        client = Client("http://x.example/base/")
        self.assertEqual(client._core.target("/api/runs/"), "/base/api/runs/")
        for address in ("//evil.example/", "/\\evil.example/", "http://evil.example/", "evil", "/a b", "/a\r\nb", ""):
            with self.assertRaises(ResponseError, msg=address):
                client._core.target(address)
        for run_id in ("", ".", ".."):
            with self.assertRaises(ValueError):
                client.run(run_id)


class DocumentsTest(unittest.TestCase):
    def test_what_cannot_be_read_is_no_outage(self) -> None:
        with FakeServer() as server:
            with self.assertRaises(DocumentError):
                client_of(server.url).start("w", "/no/such/file")
            with self.assertRaises(TypeError):
                client_of(server.url).start("w", 7)  # type: ignore[arg-type]
            with self.assertRaises(ValueError):
                client_of(server.url).start("w", b"", media_type="text/csv\r\nX: y")
            self.assertEqual(server.starts, 0)


if __name__ == "__main__":
    unittest.main()
