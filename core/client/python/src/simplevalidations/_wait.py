"""Waiting for the end of a run."""

import json
import random
import time
from dataclasses import dataclass
from typing import AsyncIterator, Callable, Optional, Set

from . import _decode, _retry
from ._core import Core, Request, run_path
from ._transport import NoStream
from .errors import RefusedError, UnreachableError, WaitTimeoutError
from .models import Run, Step

# The least time between two reads of a run that has not ended.
POLL_PAUSE = 1.0
# After so many streams in a row without an event the run is read instead.
BROKEN_STREAMS = 2
# How long a service that does not answer is waited for.
MAX_OUTAGE = 120.0
# How long a stream may say nothing. The service speaks every 15 seconds.
SILENCE = 45.0


@dataclass(frozen=True)
class RunEvent:
    """One thing that has happened to a run: ``run.created``, ``run.started``, ``step.completed`` or ``run.completed``.

    Ignore unknown names: further events may be added.
    """

    name: str
    #: The place of the event in the story of the run; "" if it was found without a stream.
    id: str = ""
    #: The run without its steps, in events about runs.
    run: Optional[Run] = None
    #: The step without its findings, in events about steps.
    step: Optional[Step] = None


class Wait:
    """One wait for one run."""

    def __init__(
        self, core: Core, run_id: str, timeout: Optional[float], on_event: Optional[Callable[[RunEvent], None]]
    ) -> None:
        self._core = core
        self._run_id = run_id
        self._path = run_path(run_id)
        self._ends = None if timeout is None else time.monotonic() + timeout
        self._on_event = on_event
        self._last = ""
        self._completed = False
        self._told: Set[str] = set()

    async def result(self) -> Run:
        await self._follow()
        return await self._poll()

    async def _follow(self) -> None:
        """Reads streams of events until one reports the end, or the streams fail."""
        broken = 0
        while broken < BROKEN_STREAMS and not self._completed:
            told = False
            silence = SILENCE if self._ends is None else max(0.001, min(SILENCE, self._ends - time.monotonic()))
            stream = _stream(self._core, self._run_id, self._last, silence)
            try:
                async for event in stream:
                    told = True
                    self._take(event)
                    self._check_time()
            except NoStream:
                return
            except _retry.INTERRUPTIONS:
                pass
            finally:
                await stream.aclose()  # type: ignore[attr-defined]
            if self._completed:
                return
            broken = 0 if told else broken + 1
            await self._pause(random.uniform(0, POLL_PAUSE))

    def _take(self, event: RunEvent) -> None:
        self._last = event.id
        self._completed = self._completed or event.name == "run.completed"
        if event.step is not None:
            if event.step.step_id in self._told:
                return
            self._told.add(event.step.step_id)
        if self._on_event is not None:
            self._on_event(event)

    async def _poll(self) -> Run:
        """Reads the run until it is completed."""
        patience = self._core.transport.patience
        answered = time.monotonic()
        while True:
            began = time.monotonic()
            asked = 0.0
            try:
                run = await self._core.read(Run, Request("GET", self._path, {"wait": patience}))
                answered = time.monotonic()
                self._tell_steps(run)
                if run.completed:
                    return run
            except RefusedError as refused:
                asked = refused.retry_after or 0.0
                if refused.code == "invalid_parameter" and patience:
                    patience = 0
                elif not (refused.retryable or refused.status >= 500) or self._is_over(answered):
                    raise
            except UnreachableError:
                if self._is_over(answered):
                    raise
            await self._pause(max(POLL_PAUSE, min(asked, MAX_OUTAGE)) - (time.monotonic() - began))

    @staticmethod
    def _is_over(answered: float) -> bool:
        return time.monotonic() - answered > MAX_OUTAGE

    def _tell_steps(self, run: Run) -> None:
        """Reports the steps that have ended since the last poll."""
        for step in run.steps:
            if step.status in ("PASSED", "FAILED"):
                self._take(RunEvent("step.completed", self._last, step=step))
        if run.completed and not self._completed:
            self._take(RunEvent("run.completed", self._last, run=run))

    async def _pause(self, seconds: float) -> None:
        self._check_time()
        if self._ends is not None:
            seconds = min(seconds, self._ends - time.monotonic())
        await self._core.transport.sleep(max(0.0, seconds))
        self._check_time()

    def _check_time(self) -> None:
        if self._ends is not None and not self._completed and time.monotonic() >= self._ends:
            message = f"the time to wait is over, and run {self._run_id} goes on"
            raise WaitTimeoutError(message, run_id=self._run_id)


async def events(core: Core, run_id: str, after: str) -> AsyncIterator[RunEvent]:
    """Yields the events of one stream. A refusal is raised."""
    try:
        async for event in _stream(core, run_id, after, SILENCE):
            yield event
    except NoStream as answered:
        if answered.reply.status != 204:
            raise _retry.refusal(answered.reply, "", 1).error from None


async def _stream(core: Core, run_id: str, after: str, silence: float) -> AsyncIterator[RunEvent]:
    """Reads server-sent events. One that has not ended is none."""
    accepted = {"Accept": "text/event-stream", "Cache-Control": "no-cache"}
    request = Request("GET", run_path(run_id) + "events/", headers=accepted)
    headers = core.headers(request, "", None)
    if after:
        headers["Last-Event-ID"] = after
    name, data, last = "", "", ""
    lines = core.transport.lines(core.target(request.path), headers, silence)
    try:
        async for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            field, _, value = text.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not text:
                if name:
                    yield _event(name, last, data)
                name, data = "", ""
            elif field == "id":
                last = value
            elif field == "event":
                name = value
            elif field == "data":
                data += value
    finally:
        await lines.aclose()  # type: ignore[attr-defined]


def _event(name: str, last: str, data: str) -> RunEvent:
    try:
        if name.startswith("run."):
            return RunEvent(name, last, run=_decode.read(Run, json.loads(data)))
        if name.startswith("step."):
            return RunEvent(name, last, step=_decode.read(Step, json.loads(data)))
    except ValueError as error:
        raise ConnectionError(f"read event {name}: {error}") from error
    return RunEvent(name, last)
