"""Serves orders behind django-idempotency-key as its README sets it up: every unsafe view, in memory."""

import json
import pathlib
import sys
import threading
import time
import uuid

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import JsonResponse
from django.urls import path

port, folder = sys.argv[1:]
file = pathlib.Path(folder, "orders.jsonl")
rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
lock = threading.Lock()


def authenticate(get_response):
    def middleware(request):
        scheme, _, tenant = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or tenant not in ("a", "b"):
            return JsonResponse({"error": "the token is missing or wrong"}, status=401)
        request.tenant = tenant
        return get_response(request)

    return middleware


def orders(request):
    if request.method == "GET":
        wanted = request.GET.get("reference")
        return JsonResponse([row for row in rows if wanted in (None, row["reference"])], safe=False)
    body = json.loads(request.body)
    amount = body.get("amount", 0)
    if amount < 0:
        return JsonResponse({"error": "the amount is negative"}, status=400)
    if amount == 500:
        return JsonResponse({"error": "the handler failed"}, status=500)
    time.sleep((body.get("delay_ms") or (1000 if amount == 1000 else 0)) / 1000)
    row = {"id": str(uuid.uuid4()), "reference": body.get("reference"), "amount": amount, "tenant": request.tenant}
    with lock, file.open("a") as out:
        out.write(json.dumps(row) + "\n")
        rows.append(row)
    return JsonResponse(row, status=201)


urlpatterns = [path("orders", orders)]

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1", "localhost"],
    IDEMPOTENCY_KEY={"CONFLICT_STATUS_CODE": 201},
    MIDDLEWARE=["__main__.authenticate", "idempotency_key.middleware.IdempotencyKeyMiddleware"],
    ROOT_URLCONF="__main__",
    SECRET_KEY="only for this peer",
)
django.setup()
execute_from_command_line(["orders", "runserver", "--noreload", f"127.0.0.1:{port}"])
