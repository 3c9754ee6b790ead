"""Which attempts are repeated, and when."""

import email.utils
import http.client
import json
import random
import time
from dataclasses import dataclass, fields
from datetime import timezone
from typing import Any, Dict, List, Optional

from . import _decode
from ._wire import Reply, Unsent
from .errors import DocumentError, Error, RefusedError, UnknownOutcomeError, UnreachableError
from .models import FieldError

# A service that asks to wait for longer is not waited for.
MAX_RETRY_AFTER = 60.0
# Refusals with these codes come only after the key was looked up and not found in use.
_TELLS_THE_OUTCOME = frozenset({
    "quota_exceeded", "payment_required", "idempotency_key_reused", "workflow_inactive", "workflow_has_no_steps",
    "unsupported_media_type", "document_gone",
})
# What ends an attempt without an answer.
INTERRUPTIONS = (OSError, http.client.HTTPException, Unsent, DocumentError)


@dataclass(frozen=True)
class Retries:
    """How often and how long a call is tried. Times are in seconds."""

    #: How often a request is sent at most; 1 is never again.
    attempts: int = 4
    #: Each wait is a random time below a limit that begins with ``min_wait`` and doubles up to ``max_wait``.
    min_wait: float = 0.25
    max_wait: float = 8.0
    #: The time after which no further attempt begins.
    budget: float = 300.0
    #: How long one attempt may take, the sending of the document included.
    attempt_timeout: float = 120.0

    def wait(self, attempts: int, asked: float) -> Optional[float]:
        """Returns how long to wait before the next attempt, or None if there may be none."""
        if attempts >= self.attempts or asked > MAX_RETRY_AFTER:
            return None
        if asked > 0:
            # Clients that were sent away together should not come back together.
            return asked + random.uniform(0, self.min_wait)
        # The power is bounded, as the number of attempts may be large.
        return random.uniform(0, min(self.min_wait * 2.0 ** min(attempts - 1, 60), self.max_wait))


@dataclass(frozen=True)
class Attempt:
    """One request that was sent, or was to be sent."""

    method: str
    path: str
    #: Counts from 1.
    number: int
    key: str
    #: 0 if no answer came.
    status: int
    request_id: str
    error: Optional[Exception]
    #: In seconds.
    took: float


@dataclass(frozen=True)
class Failure:
    """Why one attempt came to nothing."""

    error: Exception
    #: Whether the service may have done what was asked for.
    lost: bool = False
    #: Whether another attempt would fail alike.
    final: bool = False

    @property
    def refused(self) -> Optional[RefusedError]:
        return self.error if isinstance(self.error, RefusedError) else None

    @property
    def retry_after(self) -> float:
        return (self.refused.retry_after or 0.0) if self.refused else 0.0

    def retryable(self, safe: bool) -> bool:
        """Returns whether sending the request again may succeed, and does not do its work twice."""
        if self.final or (self.lost and not safe):
            return False
        if self.refused is None:
            return True
        if self.refused.code:
            return self.refused.retryable and self.refused.status != 422
        # A proxy in front of the service has answered.
        return safe and self.refused.status in (502, 503, 504)


def failure_of(error: Exception) -> Failure:
    """Judges an attempt without an answer."""
    if isinstance(error, DocumentError):
        return Failure(error, final=True)
    if isinstance(error, Unsent):
        return Failure(error.cause, final=error.final)
    return Failure(error, lost=True)


def refusal(answer: Reply, key: str, attempts: int) -> Failure:
    """Makes the failure of an answer that is no success."""
    problem: Dict[str, Any] = {}
    if answer.media_type() == "application/problem+json":
        try:
            decoded = json.loads(answer.content)
        except ValueError:
            decoded = None  # The status says enough.
        if isinstance(decoded, dict):
            problem = decoded
    refused = RefusedError(
        key=key, attempts=attempts, status=answer.status, code=_text(problem, "code"),
        title=_text(problem, "title"), detail=_text(problem, "detail"),
        request_id=_text(problem, "request_id") or answer.header("Request-Id"),
        retryable=problem.get("retryable") is True, run_id=_text(problem, "run_id"),
        differs=[one for one in _list(problem, "differs") if isinstance(one, str)],
        original_request_id=_text(problem, "original_request_id"), errors=_places(problem),
        retry_after=retry_after(answer.header("Retry-After")),
    )
    return Failure(refused, lost=refused.status >= 500 and refused.code != "unavailable")


def _text(problem: Dict[str, Any], name: str) -> str:
    value = problem.get(name)
    return value if isinstance(value, str) else ""


def _list(problem: Dict[str, Any], name: str) -> List[Any]:
    value = problem.get(name)
    return value if isinstance(value, list) else []


def _places(problem: Dict[str, Any]) -> List[FieldError]:
    known = {one.name for one in fields(FieldError)}
    places = []
    for one in _list(problem, "errors"):
        try:
            members = {name: value for name, value in one.items() if name in known and value is not None}
            places.append(_decode.read(FieldError, members))
        except (AttributeError, ValueError):
            continue  # The rest of the problem says enough.
    return places


def retry_after(text: str) -> Optional[float]:
    """Reads the header, which is a number of seconds or a date."""
    try:
        return float(max(0, int(text)))
    except ValueError:
        pass
    try:
        at = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return max(0.0, at.replace(tzinfo=at.tzinfo or timezone.utc).timestamp() - time.time())


def conclude(failure: Failure, creates: bool, lost: bool, key: str, attempts: int, service: str) -> Exception:
    """Returns the error of a whole call.

    An answer that was lost in any attempt leaves open what was done, unless a later answer tells.
    """
    refused, error = failure.refused, failure.error
    if refused is not None and (not creates or not lost or refused.code in _TELLS_THE_OUTCOME):
        return refused
    if creates and lost:
        run_id = refused.run_id if refused else ""
        return unknown_outcome(error, key, attempts, run_id)
    if isinstance(error, Error):
        error.key, error.attempts = key, attempts
        return error
    return UnreachableError(f"the service at {service} did not answer: {error}", key=key, attempts=attempts)


def unknown_outcome(cause: Exception, key: str, attempts: int, run_id: str = "") -> UnknownOutcomeError:
    advice = f": a run may exist; retry with key {key}" if key else ", and the request may have been carried out"
    return UnknownOutcomeError(f"the answer did not come{advice}: {cause}", key=key, attempts=attempts, run_id=run_id)
