"""What the service answers. Members that a newer service adds are left out; times that have not come are None."""

import re
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Type, TypedDict, TypeVar

from .errors import FieldError

T = TypeVar("T")


@dataclass(frozen=True)
class Counts:
    """How much was found, with what is not listed one by one."""

    errors: int = 0
    warnings: int = 0
    infos: int = 0


@dataclass(frozen=True)
class Issue:
    """One thing that a step has found. ``severity`` is ERROR, WARNING or INFO; only errors fail a run."""

    id: str = ""
    severity: str = ""
    code: str = ""
    message: str = ""
    path: str = ""
    line: int = 0
    column: int = 0
    row: int = 0
    excerpt: str = ""
    count: int = 0
    sample_rows: List[int] = field(default_factory=list)
    assertion_id: Optional[str] = None
    truncated: bool = False


@dataclass(frozen=True)
class Finding(Issue):
    """One finding of a run."""

    step_id: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a run. ``status`` is PENDING, RUNNING, PASSED, FAILED or SKIPPED."""

    step_id: str = ""
    name: str = ""
    status: str = ""
    error: str = ""
    counts: Counts = Counts()
    issues: List[Issue] = field(default_factory=list)
    issues_truncated: bool = False


@dataclass(frozen=True)
class Run:
    """One execution of one version of a workflow on one document.

    ``state`` is PENDING, RUNNING or COMPLETED. ``result`` is UNKNOWN until then, and afterwards PASS, FAIL (because of
    the document), ERROR (because of the service), CANCELED or TIMED_OUT.
    """

    id: str
    state: str = ""
    result: str = ""
    status: str = ""
    workflow: str = ""
    workflow_slug: str = ""
    workflow_version: int = 0
    submission: str = ""
    org: str = ""
    source: str = ""
    error: str = ""
    error_category: str = ""
    user_friendly_error: str = ""
    #: None if the run was started without one.
    idempotency_key: Optional[str] = None
    #: The id of the run that this one repeats.
    rerun_of: Optional[str] = None
    created_at: Optional[datetime] = None
    started_at: Optional[datetime] = None
    ended_at: Optional[datetime] = None
    duration_ms: int = 0
    attempts: int = 0
    content_purged_at: Optional[datetime] = None
    findings_purged_at: Optional[datetime] = None
    counts: Counts = Counts()
    #: Empty in lists and events.
    steps: List[Step] = field(default_factory=list)

    @property
    def completed(self) -> bool:
        """Whether the run has ended."""
        return self.state == "COMPLETED"


@dataclass(frozen=True)
class Started:
    """What a start or rerun has come to."""

    #: The run as it was when it was started, also in a replay.
    run: Run
    #: The idempotency key that all attempts had.
    key: str
    #: Whether the run had been started before with this key.
    replayed: bool = False
    #: Until when the key stands for this run.
    expires: Optional[datetime] = None
    request_id: str = ""
    #: The id of the request that started the run.
    original_request_id: str = ""
    #: How often the request was sent.
    attempts: int = 0


@dataclass(frozen=True)
class WorkflowStep:
    """One check of a workflow."""

    id: str = ""
    name: str = ""
    validator_type: str = ""
    order: int = 0


@dataclass(frozen=True)
class Workflow:
    """A workflow as of one of its versions."""

    id: str
    slug: str = ""
    name: str = ""
    description: str = ""
    version: int = 0
    org_slug: str = ""
    is_active: bool = False
    accepts: List[str] = field(default_factory=list)
    steps: List[WorkflowStep] = field(default_factory=list)
    constants: List[str] = field(default_factory=list)
    created_at: Optional[datetime] = None
    updated_at: Optional[datetime] = None
    #: Only after a save: what the definition probably does not mean.
    warnings: List[FieldError] = field(default_factory=list)


@dataclass(frozen=True)
class Organization:
    """An organization."""

    id: str = ""
    slug: str = ""
    name: str = ""


@dataclass(frozen=True)
class Me:
    """Who the token stands for."""

    id: str
    email: str = ""
    name: str = ""
    org: Organization = Organization()
    role: str = ""
    #: The id of the token that was used.
    token: Optional[str] = None


@dataclass(frozen=True)
class DayUsage:
    """The runs of one day."""

    day: str = ""
    runs: int = 0


@dataclass(frozen=True)
class WorkflowUsage:
    """The runs of one workflow."""

    workflow: str = ""
    slug: str = ""
    runs: int = 0


@dataclass(frozen=True)
class Usage:
    """What the organization has used in the current month."""

    metric: str
    used: int = 0
    #: None if there is no limit.
    quota: Optional[int] = None
    remaining: Optional[int] = None
    #: Runs beyond the quota, which are not in ``used``.
    overage: int = 0
    period: str = ""
    resets_at: Optional[datetime] = None
    #: Not None if ``days`` and ``workflows`` are about the newest runs only.
    counted_since: Optional[datetime] = None
    days: List[DayUsage] = field(default_factory=list)
    workflows: List[WorkflowUsage] = field(default_factory=list)


@dataclass(frozen=True)
class DocumentLine:
    """One line of a document. ``text`` has only its first characters if ``cut``; ``length`` counts all of them."""

    number: int
    text: str = ""
    length: int = 0
    cut: bool = False


@dataclass(frozen=True)
class DocumentWindow:
    """A part of a run's document, with the findings on its lines, at most 200.

    ``kind`` is text, table, binary or too_large; the last two have no lines.
    """

    filename: str = ""
    media_type: str = ""
    size: int = 0
    sha256: str = ""
    kind: str = ""
    line_count: int = 0
    next: Optional[str] = None
    previous: Optional[str] = None
    lines: List[DocumentLine] = field(default_factory=list)
    findings: List[Finding] = field(default_factory=list)
    content: str = ""


@dataclass(frozen=True)
class ComparisonCounts:
    """How many findings are new, gone and the same."""

    new: int = 0
    gone: int = 0
    same: int = 0


@dataclass(frozen=True)
class Comparison:
    """What has changed since the previous run on the same file. ``new`` and ``gone`` are at most 200 findings each."""

    #: None if there is nothing to compare with.
    previous: Optional[str] = None
    counts: ComparisonCounts = ComparisonCounts()
    new: List[Finding] = field(default_factory=list)
    gone: List[Finding] = field(default_factory=list)
    #: Whether all findings of both runs are kept one by one, so that they could be compared.
    complete: bool = False


@dataclass(frozen=True)
class LoggedRequest:
    """One request in the log of the organization."""

    id: str
    at: Optional[datetime] = None
    method: str = ""
    path: str = ""
    #: The operation that the key belongs to.
    endpoint: Optional[str] = None
    status: int = 0
    #: None if the request was not refused.
    code: Optional[str] = None
    key: Optional[str] = None
    #: None for a form of the dashboard.
    token: Optional[str] = None
    address: Optional[str] = None
    request_id: str = ""
    #: Whether the answer is that of the request ``original_request_id``.
    replayed: bool = False
    original_request_id: Optional[str] = None
    run: Optional[str] = None
    duration_ms: float = 0.0


@dataclass(frozen=True)
class LoggedHeader:
    """One header of a request. A value that may be a secret was not kept: it is ``hidden``."""

    name: str
    value: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Problem:
    """The body of a refusal."""

    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    code: str = ""
    request_id: str = ""
    retryable: bool = False


@dataclass(frozen=True)
class LoggedRequestDetail(LoggedRequest):
    """One request in the log with everything that is kept of it."""

    headers: List[LoggedHeader] = field(default_factory=list)
    body_size: int = 0
    #: None if the body is large or was not read to its end.
    body_sha256: Optional[str] = None
    problem: Optional[Problem] = None


@dataclass(frozen=True)
class OrganizationSettings:
    """The organization with its settings. A period is None where that of the service applies, and 0 for ever."""

    id: str
    slug: str = ""
    name: str = ""
    created_at: Optional[datetime] = None
    suspended: bool = False
    key_required: bool = False
    key_lifetime_ms: Optional[int] = None
    content_retention_ms: Optional[int] = None
    findings_retention_ms: Optional[int] = None
    #: None if there is no limit.
    run_quota: Optional[int] = None
    overage: bool = False
    max_tokens: int = 0


class OrganizationChange(TypedDict, total=False):
    """What of the settings to change.

    What is left out stays as it is. A period of None becomes that of the service.
    """

    name: str
    key_required: bool
    key_lifetime_ms: Optional[int]
    content_retention_ms: Optional[int]
    findings_retention_ms: Optional[int]


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)\Z")


def read_time(text: str) -> datetime:
    """Reads a time by RFC 3339, which Python does itself only since 3.11."""
    found = _TIME.match(text)
    if found is None:
        raise ValueError(f"{text!r} is no time")
    fraction = (found.group(2) or "")[:6].ljust(6, "0")
    zone = "+00:00" if found.group(3) == "Z" else found.group(3)
    return datetime.fromisoformat(f"{found.group(1)}.{fraction}{zone}").astimezone(timezone.utc)


def read(model: Type[T], value: object) -> T:
    """Makes a model of a JSON value. Anything that does not fit raises ValueError."""
    return typing.cast(T, _read(model, value, model.__name__))


def _read(kind: Any, value: object, where: str) -> object:
    origin = typing.get_origin(kind)
    if origin is typing.Union:
        inner = next(one for one in typing.get_args(kind) if one is not type(None))
        return None if value is None else _read(inner, value, where)
    if origin is list:
        if not isinstance(value, list):
            raise ValueError(f"{where} is no list")
        return [_read(typing.get_args(kind)[0], item, where) for item in value]
    if kind is datetime:
        return read_time(str(_read(str, value, where)))
    if is_dataclass(kind):
        return _read_members(kind, value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # True is an int for Python, but not for JSON.
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} is {type(value).__name__} and not {kind.__name__}")
    return value


def _read_members(kind: Any, value: object, where: str) -> object:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")
    hints = typing.get_type_hints(kind)
    members: Dict[str, object] = {}
    for one in fields(kind):
        if one.name in value:
            members[one.name] = _read(hints[one.name], value[one.name], f"{where}.{one.name}")
    try:
        return kind(**members)
    except TypeError as missing:
        raise ValueError(f"{where}: {missing}") from missing
