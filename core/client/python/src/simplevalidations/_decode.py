"""Reads JSON values into models."""

import functools
import re
import typing
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from typing import Any, Dict, Type, TypeVar

T = TypeVar("T")

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
    if origin is dict and isinstance(value, dict):
        return value
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
    hints = _hints(kind)
    members: Dict[str, object] = {}
    for one in fields(kind):
        if one.name in value:
            members[one.name] = _read(hints[one.name], value[one.name], f"{where}.{one.name}")
    try:
        return kind(**members)
    except TypeError as missing:
        raise ValueError(f"{where}: {missing}") from missing


@functools.lru_cache(maxsize=None)
def _hints(kind: Any) -> Dict[str, Any]:
    return typing.get_type_hints(kind)
