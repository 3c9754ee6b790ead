"""Idempotency keys."""

import os
import re
import tempfile
import time
import uuid
from typing import Union

Path = Union[str, "os.PathLike[str]"]

_KEY = re.compile(r"[!-~]{1,255}\Z")


def new_key() -> str:
    """Returns a new UUIDv7."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def key_from_file(path: Path) -> str:
    """Returns the key in the file, and first writes a new one there if the file does not exist.

    A program that crashed and calls this again gets the same key, and with it the same run. One file stands for one
    piece of work: remove it when the id of the run is stored elsewhere. The client never removes it.
    """
    try:
        return _read_key(path)
    except FileNotFoundError:
        pass
    try:
        _write_key(os.fspath(path))
    except FileExistsError:
        pass  # Another process was first, and its key counts.
    return _read_key(path)


def _read_key(path: Path) -> str:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        key = file.read().rstrip("\r\n")
    if not _KEY.match(key):
        raise ValueError(
            f"the file {os.fspath(path)} holds no idempotency key: if no run was started with it, remove it"
        )
    return key


def _write_key(path: str) -> None:
    """Puts a new key on disk under the name, whole or not at all. It fails if the name exists."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(prefix=".key-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(new_key() + "\n")
            file.flush()
            os.fsync(file.fileno())
        # Unlike a renaming, a link never replaces the key of another process.
        os.link(temporary, path)
    finally:
        os.unlink(temporary)
    if os.name == "posix":
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
