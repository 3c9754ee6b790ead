"""Client of the SimpleValidations REST API, with the standard library alone.

    from simplevalidations import Client

    with Client("https://validations.example", token="sv_...") as client:
        started = client.start("meter-readings", "readings.csv", media_type="text/csv")
        run = client.wait(started.run.id)
        print(run.result)

A start always carries an idempotency key: the caller's, or a new UUIDv7. All attempts of one call send the same key and
the same bytes, so that at most one run is started however often the network fails. The key is in the result and in
every error. A program that repeats the call with the same key, also after a crash, gets the same run.

``simplevalidations.testing`` has a server for tests.
"""

from ._client import Client
from ._keys import key_from_file, new_key
from ._retry import Attempt, Retries
from ._wait import Event
from .errors import (
    DocumentError,
    Error,
    FieldError,
    RefusedError,
    ResponseError,
    UnknownOutcomeError,
    UnreachableError,
    WaitTimeoutError,
)
from .models import (
    Comparison,
    ComparisonCounts,
    Counts,
    DayUsage,
    DocumentLine,
    DocumentWindow,
    Finding,
    Issue,
    LoggedHeader,
    LoggedRequest,
    LoggedRequestDetail,
    Me,
    Organization,
    OrganizationChange,
    OrganizationSettings,
    Problem,
    Run,
    Started,
    Step,
    Usage,
    Workflow,
    WorkflowStep,
    WorkflowUsage,
)

__all__ = [
    "Attempt", "Client", "Comparison", "ComparisonCounts", "Counts", "DayUsage", "DocumentError", "DocumentLine",
    "DocumentWindow", "Error", "Event", "FieldError", "Finding", "Issue", "LoggedHeader", "LoggedRequest",
    "LoggedRequestDetail", "Me", "Organization", "OrganizationChange", "OrganizationSettings", "Problem",
    "RefusedError", "ResponseError", "Retries", "Run", "Started", "Step", "UnknownOutcomeError", "UnreachableError",
    "Usage", "WaitTimeoutError", "Workflow", "WorkflowStep", "WorkflowUsage", "key_from_file", "new_key",
]
