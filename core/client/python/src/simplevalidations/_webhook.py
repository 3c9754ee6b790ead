"""Verifying webhooks, which are signed as Standard Webhooks describes."""

import base64
import hashlib
import hmac
import importlib
import json
import re
import time
from typing import Mapping, Optional, Tuple

from . import _decode
from .models import Event

# How far the clocks of both sides may be apart, with the way between them, in seconds.
TOLERANCE = 5 * 60
# The lengths of the shortest secret by Standard Webhooks and of a public key, in bytes.
MIN_SECRET, PUBLIC_KEY = 24, 32
HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class VerificationError(Exception):
    """A request is no webhook of the service. The message names the part that is wrong."""


def verify_webhook(headers: Mapping[str, str], body: bytes, *secrets: str, now: Optional[float] = None) -> Event:
    """Returns the event of a request, whose body must be as it came.

    ``secrets`` are what the service has shown: a secret ``whsec_...`` or a public key ``whpk_...``, for which the
    package ``cryptography`` is needed. One of them has to fit, so while a secret is rotated both may be given. A
    request that is not one of the service, or that is more than five minutes old, raises :class:`VerificationError`;
    a secret that is none raises :class:`ValueError`. ``now`` is the time in seconds that the request's is compared to.
    An event may come more than once, and in another order than it happened: its id tells.
    """
    if not secrets:
        raise ValueError("there is no secret to verify webhooks with")
    keys = [_key(secret) for secret in secrets]
    given = {name.lower(): value for name, value in headers.items()}
    for name in HEADERS:
        if not given.get(name):
            raise VerificationError(f"the header {name} is missing")
    id, at, signatures = (given[name] for name in HEADERS)
    if not re.fullmatch("[0-9]{1,18}", at):
        raise VerificationError("the header webhook-timestamp is not a number of seconds")
    age = (time.time() if now is None else now) - int(at)
    if abs(age) > TOLERANCE:
        raise VerificationError(f"the header webhook-timestamp is more than 5 minutes {'ago' if age > 0 else 'ahead'}")
    content = f"{id}.{at}.".encode() + body
    if not any(_fits(*key, content, signature) for signature in signatures.split(" ") for key in keys):
        raise VerificationError("the header webhook-signature has no signature of this request by a given secret")
    try:
        event = _decode.read(Event, json.loads(body))
    except ValueError as wrong:
        raise VerificationError(f"the body is not an event: {wrong}") from wrong
    if not event.id or not event.type:
        raise VerificationError("the body is not an event: it has no id or no type")
    return event


def _key(secret: str) -> Tuple[str, bytes]:
    """Returns the version of signatures by the secret, and its key."""
    kind, _, text = secret.partition("_")
    key = _bytes(text)
    if kind == "whsec" and len(key) >= MIN_SECRET:
        return "v1", key
    if kind == "whpk" and len(key) == PUBLIC_KEY:
        return "v1a", key
    # It does not show the secret.
    raise ValueError("a secret of webhooks is not whsec_ or whpk_ and a key in base64")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _fits(version: str, key: bytes, content: bytes, signature: str) -> bool:
    found, _, text = signature.partition(",")
    if found != version:
        return False
    if version == "v1":
        return hmac.compare_digest(_bytes(text), hmac.new(key, content, hashlib.sha256).digest())
    try:
        ed25519 = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
        invalid = importlib.import_module("cryptography.exceptions").InvalidSignature
    except ImportError as missing:
        raise ImportError("Python verifies no Ed25519 itself: pip install 'simplevalidations[ed25519]'") from missing
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(key).verify(_bytes(text), content)
    except invalid:
        return False
    return True
