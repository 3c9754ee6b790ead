"""The driver of the cases that all clients share: a call as JSON on each line of the input, an outcome for each."""

import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from simplevalidations import (  # noqa: E402
    Client,
    Error,
    RunEvent,
    RefusedError,
    Retries,
    Run,
    Started,
    UnknownOutcomeError,
    UnreachableError,
    key_from_file,
    verify_webhook,
)

Json = Dict[str, Any]


class Driver:
    def __init__(self) -> None:
        self._clients: Dict[Tuple[object, ...], Client] = {}
        self._lock = threading.Lock()

    def outcome(self, line: str) -> Json:
        call = json.loads(line)
        told: Json = {"id": call["id"], "ok": True, "events": []}
        try:
            self._make(call, told)
        except Exception as error:  # Whatever it is belongs into the outcome.
            told["ok"] = False
            told.update(failed(error))
        return told

    def _client(self, call: Json) -> Client:
        options = call["options"]
        settings = (call["base_url"], call["token"], *sorted(options.items()))
        with self._lock:
            if settings not in self._clients:
                self._clients[settings] = Client(call["base_url"], call["token"], retries=Retries(
                    attempts=options["attempts"], min_wait=options["min_wait_ms"] / 1000,
                    max_wait=options["max_wait_ms"] / 1000, budget=options["budget_ms"] / 1000,
                    attempt_timeout=options["attempt_timeout_ms"] / 1000,
                ))
            return self._clients[settings]

    def _make(self, call: Json, told: Json) -> None:
        client, args, op = self._client(call), call["args"], call["op"]
        run_id = args.get("run_id", "")

        def note(event: RunEvent) -> None:
            told["events"].append(event.name)

        if op in ("start", "run"):
            started = start(client, args)
            told.update(of_started(started))
            if op == "run":
                told.update(of_run(client.wait(started.run.id, on_event=note)))
        elif op == "rerun":
            told.update(of_started(client.rerun(run_id, key=key_of(args))))
        elif op == "wait":
            told.update(of_run(client.wait(run_id, on_event=note)))
        elif op == "get":
            told.update(of_run(client.run(run_id)))
        elif op == "cancel":
            told.update(of_run(client.cancel(run_id)))
        elif op == "me":
            told["items"] = [client.me().id]
        elif op == "verify":
            got = args["webhook"]
            event = verify_webhook(got["headers"], got["body"].encode(), *got["secrets"] or (), now=got["now"])
            told["items"] = [event.type]
        else:
            lists: Dict[str, Any] = {
                "findings": lambda: client.findings(run_id), "list_runs": client.runs,
                "list_workflows": client.workflows,
            }
            told["items"] = [item.id for item in lists[op]()]


def key_of(args: Json) -> Optional[str]:
    if args.get("key_file"):
        return key_from_file(args["key_file"])
    return str(args["key"]) if args.get("key") else None


def start(client: Client, args: Json) -> Started:
    optional = {
        name: args[name]
        for name in ("version", "filename", "media_type", "name", "short_description", "metadata") if name in args
    }
    document: Union[Path, bytes] = Path(args["file"]) if args.get("file") else base64.b64decode(args.get("content_base64", ""))
    return client.start(args["workflow"], document, key=key_of(args), **optional)


def of_started(started: Started) -> Json:
    return {
        "key": started.key, "replayed": started.replayed, "attempts": started.attempts, **of_run(started.run),
    }


def of_run(run: Run) -> Json:
    return {
        "run_id": run.id, "state": run.state, "result": run.result, "created_at": written(run.created_at),
        "started_at": written(run.started_at), "ended_at": written(run.ended_at),
    }


def written(at: Optional[datetime]) -> Optional[str]:
    return None if at is None else at.isoformat()


def failed(error: Exception) -> Json:
    told: Json = {"error": "invalid", "text": f"{type(error).__name__}: {error}"}
    if isinstance(error, Error):
        told.update(key=error.key, attempts=error.attempts)
    if isinstance(error, RefusedError):
        told.update(
            error="refused", code=error.code, status=error.status, retryable=error.retryable,
            retry_after_ms=int((error.retry_after or 0) * 1000),
        )
    elif isinstance(error, UnknownOutcomeError):
        told.update(error="unknown_outcome", run_id=error.run_id)
    elif isinstance(error, UnreachableError):
        told.update(error="unreachable")
    return told


def main() -> None:
    driver, lock = Driver(), threading.Lock()

    def answer(line: str) -> None:
        text = json.dumps(driver.outcome(line))
        with lock:
            print(text, flush=True)

    with ThreadPoolExecutor(max_workers=200) as threads:
        for line in sys.stdin:
            threads.submit(answer, line)


if __name__ == "__main__":
    main()
