import io
import os
import tempfile
import threading
import tracemalloc
import unittest
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, List, Set
from unittest import mock

from simplevalidations import (
    Client,
    DocumentError,
    RunEvent,
    Issue,
    RefusedError,
    Retries,
    Run,
    Step,
    UnreachableError,
    Usage,
    WaitTimeoutError,
    _decode,
    _wait,
    key_from_file,
    new_key,
)
from simplevalidations._transport import Blocking
from simplevalidations.testing import FakeServer

from .world import RUN, client_of, raw_server, read_request, response


class Server(unittest.TestCase):
    def setUp(self) -> None:
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.client = client_of(self.server.url)
        self.addCleanup(self.client.close)


class StartTest(Server):
    def test_replays(self) -> None:
        first, again = (self.client.start("w", b"a", key="k") for _ in range(2))
        self.assertEqual((first.run.id, first.replayed, again.replayed), (again.run.id, False, True))
        self.assertEqual(again.original_request_id, first.request_id)
        self.assertNotEqual(again.request_id, first.request_id)
        self.assertGreater(again.expires or datetime.min, datetime.now(timezone.utc) + timedelta(hours=23))
        with self.assertRaises(RefusedError) as caught:
            self.client.start("w", b"b", key="k")
        self.assertEqual(caught.exception.code, "idempotency_key_reused")
        self.assertEqual((len(self.server.runs), self.server.starts), (1, 3))

    def test_documents_are_read_from_where_they_stand(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "readings.csv")
            path.write_bytes(b"head\na,b\n")
            with path.open("rb") as file:
                file.readline()
                self.server.drop_responses(2)
                first = self.client.start("w", file, key="k", filename="readings.csv")
            self.assertEqual(first.attempts, 3)
            again = self.client.start("w", io.BytesIO(b"a,b\n"), key="k", filename="readings.csv")
            self.assertTrue(again.replayed)
            path.write_bytes(b"a,b\n")
            self.assertTrue(self.client.start("w", path, key="k").replayed)
            self.assertTrue(self.client.start("w", str(path), key="k").replayed)

    def test_a_stream_is_sent_once(self) -> None:
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as source:
            source.write(b"a,b\n")
        with os.fdopen(reading, "rb") as stream:
            with self.assertRaisesRegex(DocumentError, "attempts to 1"):
                self.client.start("w", stream)
            self.assertEqual(self.server.starts, 0)
            once = Client(self.server.url, retries=Retries(attempts=1))
            once.start("w", stream, key="k", filename="")
        self.assertTrue(self.client.start("w", b"a,b\n", key="k").replayed)

    def test_text_is_refused(self) -> None:
        with self.assertRaisesRegex(DocumentError, "mode rb"):
            self.client.start("w", io.StringIO("a"))  # type: ignore[arg-type]

    def test_a_document_that_shrinks_is_not_sent_in_part(self) -> None:
        class Shrinking(io.BytesIO):
            def read(self, size: Any = -1) -> bytes:
                return b""

        with self.assertRaisesRegex(DocumentError, "shorter"):
            self.client.start("w", Shrinking(b"a,b\n"))
        self.assertEqual(len(self.server.runs), 0)

    def test_large_documents_are_not_held_in_memory(self) -> None:
        size = 64 << 20

        def swallow(connection: Any) -> None:
            got, buffer = 0, bytearray(1 << 16)
            while got < size:
                got += connection.recv_into(buffer) or size
            connection.sendall(response(201, b'{"id": "%s"}' % RUN.encode()))

        with tempfile.TemporaryFile() as file, raw_server(swallow) as url:
            file.truncate(size)
            tracemalloc.start()
            try:
                client_of(url).start("w", file, filename="large.csv")
                self.assertLess(tracemalloc.get_traced_memory()[1], 8 << 20)
            finally:
                tracemalloc.stop()

    def test_threads_share_a_client(self) -> None:
        # All of them may be those of one start, which is sent four times.
        self.server.drop_responses(3)
        with ThreadPoolExecutor(16) as threads:
            started = list(threads.map(lambda number: self.client.start("w", b"%d" % number), range(100)))
        self.assertEqual(len({one.key for one in started}), 100)
        self.assertEqual({one.run.id for one in started}, {run.id for run in self.server.runs})
        self.assertEqual({one.run.idempotency_key for one in started}, {one.key for one in started})


class WaitTest(Server):
    def test_follows_events(self) -> None:
        self.server.hold()
        started = self.client.start("w", b"a")
        names: List[str] = []

        def note(event: RunEvent) -> None:
            names.append(event.name)
            if event.name == "run.created":
                self.server.end(started.run.id, "FAIL", Step(step_id="table", status="FAILED", issues=[Issue(id="i")]))

        run = self.client.wait(started.run.id, timeout=60, on_event=note)
        self.assertEqual((run.result, run.completed, len(run.steps)), ("FAIL", True, 1))
        self.assertEqual(names, ["run.created", "step.completed", "run.completed"])
        self.assertEqual([(one.id, one.step_id) for one in self.client.findings(run.id)], [("i", "table")])

    def test_ends_with_its_timeout(self) -> None:
        self.server.hold()
        run_id = self.client.start("w", b"a").run.id
        with self.assertRaises(WaitTimeoutError) as caught:
            self.client.wait(run_id, timeout=0.3)
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertEqual(caught.exception.run_id, run_id)
        self.assertFalse(self.server.runs[0].completed)

    def test_gives_a_silent_stream_up(self) -> None:
        def service(connection: Any) -> None:
            if b"/events/" in read_request(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                connection.recv(1)
            else:
                connection.sendall(response(200, b'{"id": "%s", "state": "COMPLETED"}' % RUN.encode(), "Connection: close"))

        with raw_server(service) as url, mock.patch.object(_wait, "SILENCE", 0.2):
            self.assertTrue(client_of(url).wait(RUN).completed)

    def test_a_stream_that_speaks_is_alive(self) -> None:
        spoken = threading.Event()

        def service(connection: Any) -> None:
            if b"/events/" in read_request(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
                for _ in range(10):
                    connection.sendall(b": still here\n\n")
                    threading.Event().wait(0.1)
                spoken.set()
                connection.sendall(b'event: run.completed\ndata: {"id": "%s", "state": "COMPLETED"}\n\n' % RUN.encode())
            else:
                connection.sendall(response(200, b'{"id": "%s", "state": "COMPLETED"}' % RUN.encode(), "Connection: close"))

        with raw_server(service) as url, mock.patch.object(_wait, "SILENCE", 0.6):
            client_of(url).wait(RUN)
        self.assertTrue(spoken.is_set())

    def test_a_service_that_stays_away_is_not_waited_for_without_end(self) -> None:
        self.server.close()
        slept: List[float] = []
        self.client._core.transport = Blocking(self.client._sender, slept.append)
        with mock.patch.object(_wait, "MAX_OUTAGE", 0.0), self.assertRaises(UnreachableError):
            self.client.wait(RUN)

    def test_cancels(self) -> None:
        self.server.hold()
        held = self.client.start("w", b"a").run.id
        self.assertEqual(self.client.cancel(held).result, "CANCELED")
        self.assertEqual(self.client.run(held).result, "CANCELED")


class EmptyKeyTest(unittest.TestCase):
    def test_starts_nothing(self) -> None:
        with FakeServer() as server, Client(server.url, "any") as client:
            with self.assertRaisesRegex(ValueError, "the key is empty"):
                client.start("w", b"a", key="")
            with self.assertRaisesRegex(ValueError, "the key is empty"):
                client.rerun(RUN, key="")
            self.assertEqual(len(server.runs), 0)


class OrganizationTest(unittest.TestCase):
    def test_changes_only_what_is_given(self) -> None:
        requests: List[bytes] = []

        def service(connection: Any) -> None:
            requests.append(read_request(connection))
            if len(requests) > 1:
                settings = b'{"id": "%s", "key_required": true, "key_lifetime_ms": null}' % RUN.encode()
                connection.sendall(response(200, settings, "Connection: close"))

        with raw_server(service) as url:
            changed = client_of(url).change_organization({"key_required": True, "key_lifetime_ms": None})
        self.assertEqual((changed.key_required, changed.key_lifetime_ms), (True, None))
        self.assertEqual(requests[0], requests[1])
        head, _, body = requests[0].partition(b"\r\n\r\n")
        self.assertTrue(head.startswith(b"PATCH /api/organization/ HTTP/1.1\r\n"), head)
        self.assertIn(b"\r\nContent-Type: application/json\r\n", head + b"\r\n")
        self.assertEqual(body, b'{"key_required": true, "key_lifetime_ms": null}')


class KeysTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "order-4711.key")

    def test_new_keys_are_ordered_uuids(self) -> None:
        keys = [uuid.UUID(new_key()) for _ in range(100)]
        self.assertEqual({(key.version, key.variant) for key in keys}, {(7, uuid.RFC_4122)})
        self.assertEqual(len(set(keys)), 100)
        milliseconds = keys[0].int >> 80
        self.assertLess(abs(milliseconds / 1000 - datetime.now().timestamp()), 60)

    def test_a_file_keeps_its_key(self) -> None:
        key = key_from_file(self.path)
        self.assertEqual(self.path.read_text(), key + "\n")
        self.assertEqual(key_from_file(str(self.path)), key)
        self.assertEqual(os.listdir(self.path.parent), [self.path.name])

    def test_one_key_comes_of_a_race(self) -> None:
        together = threading.Barrier(16)

        def race(_: int) -> str:
            together.wait()
            return key_from_file(self.path)

        with ThreadPoolExecutor(16) as threads:
            self.assertEqual(len(set(threads.map(race, range(16)))), 1)
        self.assertEqual(os.listdir(self.path.parent), [self.path.name])

    def test_a_file_without_a_key_is_an_error(self) -> None:
        for content in (b"", b"\n", b"two words\n", b"two\nlines\n", "schlüssel\n".encode(), b"k" * 256, b"\xff\n"):
            self.path.write_bytes(content)
            with self.assertRaisesRegex(ValueError, "holds no idempotency key", msg=repr(content)):
                key_from_file(self.path)
            self.assertEqual(self.path.read_bytes(), content)
        self.path.write_bytes(b"order-4711\r\n")
        self.assertEqual(key_from_file(self.path), "order-4711")


class ModelsTest(unittest.TestCase):
    def test_times(self) -> None:
        at = datetime(2026, 3, 2, 9, 15, 4, tzinfo=timezone.utc)
        for text, wanted in (
            ("2026-03-02T09:15:04Z", at), ("2026-03-02T09:15:04.5Z", at.replace(microsecond=500000)),
            ("2026-03-02T09:15:04.123456789Z", at.replace(microsecond=123456)), ("2026-03-02T11:15:04+02:00", at),
        ):
            self.assertEqual(_decode.read_time(text), wanted)
        for text in ("", "2026-03-02", "2026-03-02T09:15:04", "yesterday"):
            with self.assertRaises(ValueError, msg=text):
                _decode.read_time(text)

    def test_absent_is_none_and_nothing_else(self) -> None:
        run = _decode.read(Run, {"id": RUN, "started_at": None, "rerun_of": None, "weather": {}})
        self.assertEqual((run.started_at, run.rerun_of, run.steps), (None, None, []))
        wrong: List[Any] = [
            None, [], "x", {}, {"id": None}, {"id": 7}, {"id": RUN, "started_at": ""}, {"id": RUN, "steps": None},
            {"id": RUN, "attempts": True}, {"id": RUN, "attempts": "1"}, {"id": RUN, "steps": [{"status": 1}]},
        ]
        for value in wrong:
            with self.assertRaises(ValueError, msg=repr(value)):
                _decode.read(Run, value)

    def test_numbers_that_have_no_limit(self) -> None:
        usage = _decode.read(Usage, {"metric": "runs", "quota": None, "days": [{"day": "2026-03-01", "runs": 2}]})
        self.assertEqual((usage.quota, usage.days[0].runs), (None, 2))


class FakeServerTest(Server):
    def test_quota(self) -> None:
        self.server.quota(1)
        self.client.start("w", b"a", key="k")
        with self.assertRaises(RefusedError) as caught:
            self.client.start("w", b"a")
        self.assertEqual((caught.exception.code, caught.exception.retry_after), ("quota_exceeded", 3600.0))
        self.assertTrue(self.client.start("w", b"a", key="k").replayed)

    def test_outcomes_and_lists(self) -> None:
        self.server.outcome("FAIL")
        self.client.start("w", b"a", key="one")
        self.server.outcome("ERROR")
        self.client.start("w", b"a", key="two")
        found: Set[object] = {(run.idempotency_key, run.result) for run in self.client.runs()}
        self.assertEqual(found, {("one", "FAIL"), ("two", "ERROR")})
        self.assertEqual([run.idempotency_key for run in self.client.runs(idempotency_key="one")], ["one"])
        self.assertIsNotNone(self.server.runs[0].ended_at)

    def test_fails_and_waits(self) -> None:
        self.server.fail(2, status=503, code="unavailable", retryable=True)
        self.server.delay(0.01)
        self.assertEqual(self.client.start("w", b"a").attempts, 3)
        with self.assertRaises(RefusedError) as caught:
            self.client.run(RUN)
        self.assertEqual(caught.exception.code, "not_found")


if __name__ == "__main__":
    unittest.main()
