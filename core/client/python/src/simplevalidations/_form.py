"""Bodies of requests, whose bytes are the same in each attempt."""

import io
import json
import os
import re
import secrets
from typing import IO, Callable, Iterator, List, Mapping, Optional, Protocol, Tuple, Union

from .errors import DocumentError

Document = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]", IO[bytes]]

CHUNK = 64 << 10
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Body(Protocol):
    """What a request sends."""

    content_type: str

    @property
    def length(self) -> Optional[int]:
        """The length of the whole body, or None if it is not known."""

    def chunks(self) -> Iterator[bytes]:
        """Yields the body for one attempt."""


class Bytes:
    """A body that is in memory."""

    def __init__(self, content_type: str, content: bytes) -> None:
        self.content_type = content_type
        self._content = content

    @property
    def length(self) -> Optional[int]:
        return len(self._content)

    def chunks(self) -> Iterator[bytes]:
        yield self._content


class Form:
    """A form with a document, which is read anew for each attempt and never held in memory as a whole."""

    def __init__(
        self, document: Document, *, repeated: bool, filename: Optional[str], media_type: str, name: str,
        short_description: str, metadata: Optional[Mapping[str, object]],
    ) -> None:
        self._open, self._length = _source(document, repeated)
        if filename is None:
            filename = _name_of(document)
        boundary = secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        fields: List[Tuple[str, str]] = [("name", name), ("short_description", short_description)]
        if metadata:
            fields.append(("metadata", json.dumps(metadata, ensure_ascii=False, allow_nan=False)))
        head = "".join(
            f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields if value
        )
        head += f'--{boundary}\r\nContent-Disposition: form-data; name="file"'
        if filename:
            head += f'; filename="{_escaped(filename)}"'
        if media_type:
            if _CONTROL.search(media_type):
                raise ValueError("the media type has control characters")
            head += f"\r\nContent-Type: {media_type}"
        self._before = (head + "\r\n\r\n").encode()
        self._after = f"\r\n--{boundary}--\r\n".encode()

    @property
    def length(self) -> Optional[int]:
        """The length of the whole form, or None if it is not known."""
        if self._length is None:
            return None
        return len(self._before) + self._length + len(self._after)

    def chunks(self) -> Iterator[bytes]:
        """Yields the form for one attempt."""
        yield self._before
        yield from self._document()
        yield self._after

    def _document(self) -> Iterator[bytes]:
        left = self._length
        try:
            with self._open() as file:
                while left is None or left > 0:
                    chunk = file.read(CHUNK if left is None else min(CHUNK, left))
                    if not chunk:
                        break
                    if left is not None:
                        left -= len(chunk)
                    yield chunk
        except (OSError, ValueError) as broken:
            raise DocumentError(f"read the document: {broken}") from broken
        if left:
            raise DocumentError("the document has become shorter while it was sent")


class _Kept(io.RawIOBase):
    """A file of the caller, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        if not isinstance(chunk, bytes):
            raise ValueError("the file is open as text: open it with mode rb")
        return chunk


def _source(document: Document, repeated: bool) -> Tuple[Callable[[], io.IOBase], Optional[int]]:
    """Returns what opens the document for an attempt, and its length."""
    if isinstance(document, (bytes, bytearray, memoryview)):
        content = bytes(document)
        return lambda: io.BytesIO(content), len(content)
    if isinstance(document, (str, os.PathLike)):
        path = os.fspath(document)
        try:
            return lambda: open(path, "rb"), os.stat(path).st_size
        except OSError as broken:
            raise DocumentError(f"read the document: {broken}") from broken
    if not hasattr(document, "read"):
        raise TypeError(f"the document is {type(document).__name__}: give bytes, a path or a file open in mode rb")
    return _source_of_file(document, repeated)


def _source_of_file(file: IO[bytes], repeated: bool) -> Tuple[Callable[[], io.IOBase], Optional[int]]:
    try:
        begin = file.tell()
        length = file.seek(0, io.SEEK_END) - begin
        file.seek(begin)
    except (OSError, AttributeError) as broken:
        if repeated:
            raise DocumentError(
                "the document can be read only once, so it could not be sent again: give bytes, a path or a file that "
                "can seek, or set attempts to 1"
            ) from broken
        return lambda: _Kept(file), None

    def rewound() -> io.IOBase:
        file.seek(begin)
        return _Kept(file)

    return rewound, length


def _name_of(document: Document) -> str:
    name = document if isinstance(document, (str, os.PathLike)) else getattr(document, "name", "")
    if isinstance(name, (str, os.PathLike)):
        return os.path.basename(os.fspath(name))
    return ""


def _escaped(name: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\r": "%0D", "\n": "%0A"}
    return "".join(escapes.get(letter, letter) for letter in name)
