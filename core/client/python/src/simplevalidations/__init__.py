"""Client of the SimpleValidations REST API, with the standard library alone.

    from simplevalidations import Client

    with Client("https://validations.example", token="svt_...") as client:
        started = client.start("meter-readings", "readings.csv", media_type="text/csv")
        run = client.wait(started.run.id)
        print(run.result)

A start always carries an idempotency key: the caller's, or a new UUIDv7. All attempts of one call send the same key and
the same bytes, so that at most one run is started however often the network fails. The key is in the result and in
every error. A program that repeats the call with the same key, also after a crash, gets the same run.

``AsyncClient`` is the same for asyncio. ``simplevalidations.testing`` has a server for tests.
"""

from . import models
from ._client import AsyncClient, Client, SignedCall
from ._core import Answer, AsyncPages, Page, Pages, Started
from ._keys import key_from_file, new_key
from ._operations import VERSION as __version__
from ._retry import Attempt, Retries
from ._wait import RunEvent
from ._webhook import VerificationError, verify_webhook
from .errors import (
    DocumentError,
    Error,
    RefusedError,
    ResponseError,
    UnknownOutcomeError,
    UnreachableError,
    WaitTimeoutError,
)
from .models import *  # noqa: F403

__all__ = [
    "Answer", "AsyncClient", "AsyncPages", "Attempt", "Client", "DocumentError", "Error", "Page", "Pages",
    "RefusedError", "ResponseError", "Retries", "RunEvent", "SignedCall", "Started", "UnknownOutcomeError",
    "UnreachableError", "VerificationError", "WaitTimeoutError", "__version__", "key_from_file", "models", "new_key",
    "verify_webhook",
]
__all__ += models.__all__
