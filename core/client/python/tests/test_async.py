import asyncio
import hashlib
import hmac
import re
import socket
import unittest
import unittest.mock
from typing import Any, List

from simplevalidations import (
    AsyncClient,
    Client,
    RunEvent,
    RefusedError,
    Retries,
    SignedCall,
    Step,
    UnknownOutcomeError,
    UnreachableError,
    WaitTimeoutError,
)
from simplevalidations.testing import FakeServer

from .world import RUN, SOON, client_of, raw_server, read_request, response


class AsyncTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.server = FakeServer()
        self.addCleanup(self.server.close)
        self.client = AsyncClient(self.server.url, "sv_secret", retries=SOON)
        self.addCleanup(self.client.close)

    async def asyncSetUp(self) -> None:
        # With it every future takes a picture of the stack.
        asyncio.get_running_loop().set_debug(False)

    async def test_starts_once_whatever_gets_lost(self) -> None:
        self.server.drop_responses(2)
        started = await self.client.start("w", b"a")
        self.assertEqual((started.attempts, started.replayed, len(self.server.runs)), (3, True, 1))
        with self.assertRaises(RefusedError):
            await self.client.start("w", b"b", key=started.key)

    async def test_waits_for_many_runs_without_a_thread_for_each(self) -> None:
        self.server.hold()
        ids = [(await self.client.start("w", b"a")).run.id for _ in range(40)]
        following: List[str] = []
        names: List[str] = []

        def note(event: RunEvent) -> None:
            names.append(event.name)
            following.append(event.name)
            if following.count("run.created") == len(ids):
                following.clear()
                for run_id in ids:
                    self.server.end(run_id, "PASS", Step(step_id="table", status="PASSED"))

        # The threads of asyncio are 32 at most: if each wait held one, not all runs would be followed.
        runs = await asyncio.gather(*(self.client.wait(run_id, timeout=60, on_event=note) for run_id in ids))
        self.assertEqual([(run.id, run.result) for run in runs], [(run_id, "PASS") for run_id in ids])
        self.assertEqual({name: names.count(name) for name in set(names)}, {
            "run.created": 40, "step.completed": 40, "run.completed": 40,
        })

    async def test_ends_with_its_timeout_and_its_task(self) -> None:
        self.server.hold()
        run_id = (await self.client.start("w", b"a")).run.id
        with self.assertRaises(WaitTimeoutError):
            await self.client.wait(run_id, timeout=0.3)
        waiting = asyncio.create_task(self.client.wait(run_id))
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        self.assertFalse(self.server.runs[0].completed)

    async def test_lists_and_events(self) -> None:
        for key in ("one", "two"):
            await self.client.start("w", b"a", key=key)
        self.assertEqual([run.idempotency_key async for run in self.client.runs()], ["two", "one"])
        page = await self.client.runs(idempotency_key="one").page()
        self.assertEqual([run.idempotency_key for run in page.results], ["one"])
        run_id = self.server.runs[0].id
        events = [event async for event in self.client.events(run_id)]
        self.assertEqual([event.name for event in events], ["run.created", "run.completed"])
        self.assertEqual([event.name async for event in self.client.events(run_id, after=events[0].id)], ["run.completed"])
        with self.assertRaises(RefusedError) as caught:
            async for _ in self.client.events(RUN):
                pass
        self.assertEqual(caught.exception.code, "not_found")

    async def test_reads_chunks_wherever_they_end(self) -> None:
        event = b'id: 1\nevent: run.completed\ndata: {"id": "%s", "state": "COMPLETED"}\n\n' % RUN.encode()

        def service(connection: Any) -> None:
            read_request(connection)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(event), 7):
                connection.sendall(b"%x\r\n%b\r\n" % (len(event[at:at + 7]), event[at:at + 7]))
            connection.sendall(b"0\r\n\r\n")

        with raw_server(service) as url:
            events = [one async for one in AsyncClient(url).events(RUN)]
        self.assertEqual([(one.id, one.name) for one in events], [("1", "run.completed")])


class SharedTest(unittest.TestCase):
    """What both clients have by the same code, seen with the one that blocks."""

    def test_options_for_one_call(self) -> None:
        with FakeServer() as server, client_of(server.url) as client:
            server.drop_responses(1)
            once = client.with_options(retries=Retries(attempts=1))
            with self.assertRaises(UnknownOutcomeError) as caught:
                once.start("w", b"a")
            self.assertTrue(client.start("w", b"a", key=caught.exception.key).replayed)
            self.assertIs(once._sender, client._sender)

    def test_pages_and_events(self) -> None:
        with FakeServer() as server, client_of(server.url) as client:
            started = client.start("w", b"a", key="one")
            page = client.runs(page_size=5).page()
            self.assertEqual(([run.id for run in page.results], page.next), ([started.run.id], None))
            self.assertEqual([event.name for event in client.events(started.run.id)], ["run.created", "run.completed"])
            answer = client.send("GET", f"/api/runs/{started.run.id}/")
            self.assertEqual((answer.status, answer.json()["id"]), (200, started.run.id))
            self.assertTrue(answer.headers["request-id"])

    def test_what_has_no_key_is_not_done_twice(self) -> None:
        requests: List[bytes] = []

        def service(connection: Any) -> None:
            requests.append(read_request(connection))

        with raw_server(service) as url, client_of(url) as client:
            with self.assertRaises(UnknownOutcomeError) as caught:
                client.create_token({"label": "l", "role": "viewer"})
            self.assertEqual((caught.exception.key, caught.exception.attempts, len(requests)), ("", 1, 1))
            with self.assertRaises(UnknownOutcomeError):
                client.send("POST", "/api/workflows/", json={})
            self.assertEqual(len(requests), 2)
            with self.assertRaises(UnreachableError) as lost:
                client.me()
            self.assertIn(url, str(lost.exception))
            self.assertIn(b"simplevalidations-python/1.0.0 ", requests[0])

    def test_a_callback_is_signed(self) -> None:
        requests: List[bytes] = []

        def service(connection: Any) -> None:
            requests.append(read_request(connection))
            connection.sendall(response(200, b'{"accepted": true}', "Connection: close"))

        with raw_server(service) as url, client_of(url) as client:
            receipt = client.call_back(SignedCall("r-1", RUN, "secret"), {"result": "PASS"})
        self.assertTrue(receipt.accepted)
        head, _, body = requests[0].partition(b"\r\n\r\n")
        signature = re.search(rb"\r\nSv-Signature: t=(\d+),v2=([0-9a-f]{64})\r\n", head + b"\r\n")
        assert signature is not None, head
        digest = hashlib.sha256(body).hexdigest().encode()
        signed = b".".join([b"v2.callback", signature.group(1), b"r-1", RUN.encode(), digest])
        self.assertEqual(signature.group(2).decode(), hmac.new(b"secret", signed, "sha256").hexdigest())


class ProxyTest(unittest.TestCase):
    def test_requests_go_through_it(self) -> None:
        requests: List[bytes] = []

        def proxy(connection: socket.socket) -> None:
            requests.append(read_request(connection))
            connection.sendall(response(200, b'{"id": "%s"}' % RUN.encode(), "Connection: close"))

        with raw_server(proxy) as url:
            with_user = url.replace("//", "//user:p%20w@")
            with Client("http://service.invalid/base", proxy=with_user) as client:
                client.run(RUN)
            asyncio.run(AsyncClient("http://service.invalid", proxy=with_user).run(RUN))
        self.assertTrue(requests[0].startswith(f"GET http://service.invalid/base/api/runs/{RUN}/ HTTP/1.1\r\n".encode()))
        self.assertIn(b"\r\nHost: service.invalid\r\n", requests[0])
        self.assertIn(b"\r\nProxy-Authorization: Basic dXNlcjpwIHc=\r\n", requests[0])
        self.assertEqual(len(requests), 2)

    def test_tls_goes_through_a_tunnel(self) -> None:
        said: List[bytes] = []

        def proxy(connection: socket.socket) -> None:
            said.append(read_request(connection))
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            said.append(connection.recv(3))

        with raw_server(proxy) as url, Client("https://service.invalid", proxy=url, retries=Retries(attempts=1)) as client:
            with self.assertRaises(UnreachableError):
                client.run(RUN)
        self.assertTrue(said[0].startswith(b"CONNECT service.invalid:443 HTTP/1.1\r\nHost: service.invalid:443\r\n"), said)
        self.assertEqual(said[1][:2], b"\x16\x03")  # A handshake of TLS.

    def test_it_is_that_of_the_environment_unless_it_is_set(self) -> None:
        with unittest.mock.patch.dict("os.environ", {"http_proxy": "http://proxy.example:3128", "no_proxy": "near.example"}):
            for url, proxy, wanted in (
                ("http://far.example", None, "proxy.example"), ("http://near.example", None, None),
                ("http://far.example", "", None), ("http://far.example", "http://other.example", "other.example"),
            ):
                address = Client(url, proxy=proxy)._sender._proxy
                self.assertEqual(address.hostname if address else None, wanted, (url, proxy))
        with self.assertRaises(ValueError):
            Client("http://far.example", proxy="socks5://proxy.example")


if __name__ == "__main__":
    unittest.main()
