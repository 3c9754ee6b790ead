"""Builds the wheel with the standard library alone, so that it needs no network and no other package.

It is a build backend by PEP 517, so that ``pip install .`` and ``python -m build --wheel`` work. By hand it writes the
wheel into a folder: ``python3 backend.py FOLDER``. The same sources give the same bytes.
"""

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
# The time of all files in the wheel. Zip files know none before 1980.
TIME = (2026, 1, 1, 0, 0, 0)
Settings = Optional[Mapping[str, object]]


def project(name: str) -> str:
    """Returns a text of pyproject.toml. Python reads TOML only since 3.11."""
    found = re.search(rf'^{name} = "([^"]*)"$', (HERE / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"pyproject.toml has no {name}")
    return found.group(1)


def texts(name: str) -> List[str]:
    """Returns the texts of a list in pyproject.toml."""
    found = re.search(rf"^{name} = \[(.*?)\]$", (HERE / "pyproject.toml").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"pyproject.toml has no {name}")
    return re.findall(r'"([^"]*)"', found.group(1))


def metadata() -> str:
    fields = [
        ("Metadata-Version", "2.1"), ("Name", project("name")), ("Version", project("version")),
        ("Summary", project("description")), ("Author", texts("authors")[0]), ("License", "MIT"),
        ("Keywords", ",".join(texts("keywords"))), ("Requires-Python", project("requires-python")),
        *(("Classifier", one) for one in texts("classifiers")),
        *(("Project-URL", f"{name}, {project(name)}") for name in ("Homepage", "Documentation", "Changelog", "Issues")),
        ("Provides-Extra", "ed25519"),
        *(("Requires-Dist", f'{one}; extra == "ed25519"') for one in texts("ed25519")),
        ("License-File", "LICENSE"), ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{name}: {value}\n" for name, value in fields) + "\n" + (HERE / "README.md").read_text("utf-8")


def folder() -> str:
    """Returns the name of the wheel's folder of metadata."""
    return f"{project('name')}-{project('version')}.dist-info"


def described() -> Dict[str, bytes]:
    """Returns the files of metadata by their names, but for the record of all files."""
    wheel = "Wheel-Version: 1.0\nGenerator: simplevalidations\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files = {f"{folder()}/{name}": (HERE / name).read_bytes() for name in ("LICENSE", "CHANGELOG.md")}
    return {**files, f"{folder()}/METADATA": metadata().encode(), f"{folder()}/WHEEL": wheel.encode()}


def record(files: Mapping[str, bytes]) -> bytes:
    """Lists the files with their digests."""
    lines: List[str] = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join([*lines, f"{folder()}/RECORD,,\n"]).encode()


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: Optional[str] = None) -> str:
    """Writes the wheel and returns its name."""
    files = {
        path.relative_to(SOURCES).as_posix(): path.read_bytes()
        for path in sorted(SOURCES.rglob("*")) if path.suffix == ".py" or path.name == "py.typed"
    }
    files.update(described())
    files[f"{folder()}/RECORD"] = record(files)
    name = f"{project('name')}-{project('version')}-py3-none-any.whl"
    target = Path(wheel_directory)
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            info = zipfile.ZipInfo(path, TIME)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(info, content)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    raise NotImplementedError("there is only a wheel: use --wheel")


def main(arguments: Tuple[str, ...]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python3 backend.py FOLDER")
    print(Path(arguments[0]) / build_wheel(arguments[0]))


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
