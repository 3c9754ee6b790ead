"""The errors of calls. All are an :class:`Error`."""

from typing import Optional, Sequence

from .models import FieldError


class Error(Exception):
    """A call has failed."""

    #: The idempotency key that the call had, to repeat it with; "" for calls that take none.
    key: str
    #: How often the request was sent, or was to be sent.
    attempts: int

    def __init__(self, message: str = "", *, key: str = "", attempts: int = 0) -> None:
        super().__init__(message)
        self.key = key
        self.attempts = attempts


class RefusedError(Error):
    """The service has refused the request.

    ``code`` says why and has a page in the documentation, such as ``quota_exceeded``. It is "" if a proxy in front of
    the service has answered.
    """

    status: int
    code: str
    title: str
    detail: str
    request_id: str
    #: Whether the same request may succeed later.
    retryable: bool
    run_id: str
    #: What differs from the first request with the same key.
    differs: Sequence[str]
    original_request_id: str
    errors: Sequence[FieldError]
    #: How many seconds the service asks to wait, or None if it does not say.
    retry_after: Optional[float]

    def __init__(
        self, message: str = "", *, key: str = "", attempts: int = 0, status: int = 0, code: str = "", title: str = "",
        detail: str = "", request_id: str = "", retryable: bool = False, run_id: str = "",
        differs: Sequence[str] = (), original_request_id: str = "", errors: Sequence[FieldError] = (),
        retry_after: Optional[float] = None,
    ) -> None:
        if not message:
            message = detail or f"the answer has the status {status}"
            told = ", ".join(part for part in (code, request_id and f"request {request_id}") if part)
            message += f" ({told})" if told else ""
        super().__init__(message, key=key, attempts=attempts)
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.request_id = request_id
        self.retryable = retryable
        self.run_id = run_id
        self.differs = differs
        self.original_request_id = original_request_id
        self.errors = errors
        self.retry_after = retry_after


class UnknownOutcomeError(Error):
    """The answer to a start never arrived, and a run may exist. Repeating the call with ``key`` is safe and finds out."""

    #: The id that the run has if it exists, or "" if the service could not tell.
    run_id: str

    def __init__(self, message: str = "", *, key: str = "", attempts: int = 0, run_id: str = "") -> None:
        super().__init__(message, key=key, attempts=attempts)
        self.run_id = run_id


class UnreachableError(Error):
    """The service did not answer, and nothing has happened: the request was never sent, or was read-only."""


class ResponseError(Error):
    """The answer to a read is not that of this service."""


class DocumentError(Error):
    """The document could not be read, or not a second time."""


class WaitTimeoutError(Error, TimeoutError):
    """The wait timed out. The run continues."""

    run_id: str

    def __init__(self, message: str = "", *, run_id: str = "") -> None:
        super().__init__(message)
        self.run_id = run_id
