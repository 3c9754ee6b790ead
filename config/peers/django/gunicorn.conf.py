import os

bind = os.environ["ADDRESS"]
raw_env = ["DJANGO_SETTINGS_MODULE=settings"]
# Connections are kept alive, which takes threads. These numbers did best on two processors.
worker_class = "gthread"
workers = 2
threads = 4
keepalive = 75
preload_app = True
loglevel = "warning"
