"""Starts a validation run exactly once, as a service with Django REST framework does it.

The key is stored first, in a transaction of its own; the run, its submission, its job, the organization's usage and the
answer follow together in a second one. Both are READ COMMITTED, the isolation level that Django has by default.
"""

import hashlib
import uuid
from datetime import timedelta
from typing import Optional

from django.core.wsgi import get_wsgi_application
from django.db import models, transaction
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import APIException, AuthenticationFailed, ParseError, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

# This comes first, as models need an application that is set up.
application = get_wsgi_application()

ENDPOINT = "workflow_start"
KEY_LIFETIME = timedelta(hours=24)
# An older lock belongs to a request that has died.
LOCK_LIFETIME = timedelta(seconds=90)
STARTED = "started"
FINISHED = "finished"


class Table(models.Model):
    """A table of schema.sql."""

    class Meta:
        abstract = True
        app_label = "app"
        managed = False


class Organization(Table):
    id = models.UUIDField(primary_key=True)

    class Meta(Table.Meta):
        db_table = "organizations"


class OrganizationTable(Table):
    org = models.ForeignKey(Organization, models.CASCADE, related_name="+")

    class Meta(Table.Meta):
        abstract = True


class Token(OrganizationTable):
    digest = models.BinaryField(primary_key=True)
    role = models.TextField()

    class Meta(Table.Meta):
        db_table = "tokens"


class Workflow(OrganizationTable):
    id = models.UUIDField(primary_key=True)
    slug = models.TextField()
    version = models.IntegerField()

    class Meta(Table.Meta):
        db_table = "workflows"


class UsageCounter(OrganizationTable):
    id = models.BigAutoField(primary_key=True)
    used = models.BigIntegerField(default=0)
    quota = models.BigIntegerField(null=True)

    class Meta(Table.Meta):
        db_table = "usage_counters"


class IdempotencyKey(OrganizationTable):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    key = models.TextField()
    endpoint = models.TextField()
    request_method = models.TextField()
    request_path = models.TextField()
    request_hash = models.TextField()
    request_ip = models.GenericIPAddressField(null=True)
    user_agent = models.TextField()
    recovery_point = models.TextField(default=STARTED)
    locked_at = models.DateTimeField(null=True)
    response_status = models.SmallIntegerField(null=True)
    response_headers = models.JSONField(null=True)
    response_body = models.JSONField(null=True)
    validation_run_id = models.UUIDField(null=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta(Table.Meta):
        db_table = "idempotency_keys"


class Submission(OrganizationTable):
    id = models.BigAutoField(primary_key=True)
    media_type = models.TextField()
    filename = models.TextField()
    size = models.BigIntegerField()
    sha256 = models.TextField()
    content = models.BinaryField()

    class Meta(Table.Meta):
        db_table = "submissions"


class ValidationRun(OrganizationTable):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    workflow = models.ForeignKey(Workflow, models.PROTECT)
    workflow_version = models.IntegerField()
    submission = models.ForeignKey(Submission, models.PROTECT)
    idempotency_key = models.OneToOneField(IdempotencyKey, models.SET_NULL, null=True)
    source = models.TextField()
    state = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta(Table.Meta):
        db_table = "validation_runs"


class StagedJob(Table):
    id = models.BigAutoField(primary_key=True)
    name = models.TextField()
    args = models.JSONField()

    class Meta(Table.Meta):
        db_table = "staged_jobs"


class KeyReused(APIException):
    status_code = 422
    default_detail = "Idempotency key has already been used with a different request."
    default_code = "idempotency_key_reused"


class KeyInProgress(APIException):
    status_code = 409
    default_detail = "A request with this idempotency key is currently being processed."
    default_code = "idempotency_key_in_progress"


class TokenAuthentication(BaseAuthentication):
    """Finds the token by its digest. It is all that is known of who asks."""

    def authenticate(self, request: Request) -> Optional[tuple[None, Token]]:
        keyword, _, secret = get_authorization_header(request).partition(b" ")
        if keyword.lower() != b"bearer":
            return None
        token = Token.objects.filter(digest=hashlib.sha256(secret).digest()).first()
        if token is None:
            raise AuthenticationFailed()
        return None, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayStart(BasePermission):
    def has_permission(self, request: Request, view: APIView) -> bool:
        return request.auth is not None and request.auth.role == "executor"


class StartView(APIView):
    authentication_classes = [TokenAuthentication]
    permission_classes = [MayStart]

    def post(self, request: Request, workflow_id: uuid.UUID) -> Response:
        workflow = get_object_or_404(Workflow, id=workflow_id, org_id=request.auth.org_id)
        key = claim_key(request)
        headers = {"Idempotent-Replayed": "true"}
        if key.recovery_point != FINISHED:
            headers = {}
            try:
                start_run(request, workflow, key)
            except Exception:
                IdempotencyKey.objects.filter(id=key.id).update(locked_at=None)
                raise
        return Response(key.response_body, key.response_status, headers={**key.response_headers, **headers})


def claim_key(request: Request) -> IdempotencyKey:
    """Returns the key, which is finished or belongs to this request alone."""
    name = request.headers.get("Idempotency-Key")
    if not name or len(name) > 255:
        raise ParseError("Idempotency-Key must have 1 to 255 characters.")
    now = timezone.now()
    digest = fingerprint(request)
    key, created = IdempotencyKey.objects.get_or_create(
        org_id=request.auth.org_id,
        key=name,
        endpoint=ENDPOINT,
        defaults={
            "request_method": request.method,
            "request_path": request.path,
            "request_hash": digest,
            "request_ip": request.META.get("REMOTE_ADDR"),
            "user_agent": request.headers.get("User-Agent", ""),
            "locked_at": now,
            "created_at": now,
            "expires_at": now + KEY_LIFETIME,
        },
    )
    if created:
        return key
    if key.request_hash != digest:
        raise KeyReused()
    if key.recovery_point == FINISHED:
        return key
    unlocked = Q(locked_at=None) | Q(locked_at__lt=now - LOCK_LIFETIME)
    if not IdempotencyKey.objects.filter(unlocked, id=key.id, recovery_point=STARTED).update(locked_at=now):
        raise KeyInProgress()
    return key


def fingerprint(request: Request) -> str:
    digest = hashlib.sha256()
    for part in (request.method, request.get_full_path(), request.content_type):
        digest.update(part.encode() + b"\0")
    digest.update(request.body)
    return digest.hexdigest()


@transaction.atomic
def start_run(request: Request, workflow: Workflow, key: IdempotencyKey) -> None:
    """Does all that a start is, and finishes the key with the answer."""
    org_id = workflow.org_id
    counter = UsageCounter.objects.filter(Q(quota=None) | Q(used__lt=F("quota")), org_id=org_id)
    if not counter.update(used=F("used") + 1):
        raise Throttled(detail="The quota of runs is used up.")
    submission = Submission.objects.create(
        org_id=org_id,
        media_type=request.content_type,
        filename=request.headers.get("X-Filename", ""),
        size=len(request.body),
        sha256=hashlib.sha256(request.body).hexdigest(),
        content=request.body,
    )
    run = ValidationRun.objects.create(
        org_id=org_id,
        workflow=workflow,
        workflow_version=workflow.version,
        submission=submission,
        idempotency_key=key,
        source="API",
        state="PENDING",
    )
    StagedJob.objects.create(name="execute_run", args={"run_id": str(run.id)})
    url = f"/api/runs/{run.id}/"
    key.recovery_point = FINISHED
    key.locked_at = None
    key.validation_run_id = run.id
    key.response_status = 201
    key.response_headers = {"Location": url}
    # The keys stand as JSONB sorts them, so that a replay has the bytes of the first answer.
    key.response_body = {"id": str(run.id), "url": url, "state": run.state, "workflow": workflow.slug}
    key.save(
        update_fields=[
            "recovery_point",
            "locked_at",
            "validation_run_id",
            "response_status",
            "response_headers",
            "response_body",
        ]
    )


def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


urlpatterns = [
    path("livez/", alive),
    path("api/workflows/<uuid:workflow_id>/start/", StartView.as_view()),
]
