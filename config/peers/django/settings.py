"""What Django and Django REST framework need for an API without browsers."""

import os

DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "app"
USE_TZ = True
LOGGING_CONFIG = None
# The server's address is in the other variables of libpq.
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["PGDATABASE"],
        "CONN_MAX_AGE": None,
    }
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "UNAUTHENTICATED_USER": None,
}
