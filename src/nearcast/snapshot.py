"""Snapshots in a folder: the state of a kernel on disk, written whole or not at all.

A snapshot is a folder of its own with a number: an Arrow file for each table of `schema.STATE`, and a list of them with
their checksums. It gets its name when all of it is on disk, so the one with the greatest number is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from pathlib import Path

import pyarrow as pa

from nearcast.errors import SnapshotError
from nearcast.match.kernel import Kernel
from nearcast.match.state import restore, snapshot
from nearcast.model.schema import STATE, STATE_VERSION, STATE_VERSIONS

__all__ = ["load", "restore", "save", "snapshot"]

_LIST, _WRITING = "files.json", "writing-"


def save(kernel: Kernel, folder: Path) -> Path:
    """Write a snapshot into a folder, and remove those before it. Gives where it is.

    Only one may write to a folder at a time. If that one dies, the snapshot before is still there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left_over in folder.glob(f"{_WRITING}*"):
        shutil.rmtree(left_over)
    before = _numbered(folder)
    written = Path(tempfile.mkdtemp(prefix=_WRITING, dir=folder))
    sums = {name: _write(written / f"{name}.arrow", _ipc(table)) for name, table in snapshot(kernel).items()}
    _write(written / _LIST, json.dumps({"version": STATE_VERSION, "crc32": sums}).encode())
    _sync(written)
    made = written.rename(folder / f"{int(before[-1].name) + 1 if before else 1:08d}")
    _sync(folder)
    for old in before:
        shutil.rmtree(old)
    return made


def load(folder: Path) -> Kernel:
    """The kernel that was saved last. Without a snapshot that is whole, it raises `SnapshotError`."""
    found = _numbered(folder)
    if not found:
        raise SnapshotError("there is no snapshot here", str(folder))
    sums = _checksums(found[-1] / _LIST)
    return restore({name: _read(found[-1] / f"{name}.arrow", sums[name]) for name in STATE})


def _checksums(path: Path) -> dict[str, int]:
    try:
        listed = json.loads(_contents(path))
        version, sums = listed["version"], {name: int(crc) for name, crc in listed["crc32"].items()}
    except (AttributeError, LookupError, TypeError, ValueError):
        raise SnapshotError("the list of files is damaged", str(path)) from None
    if version not in STATE_VERSIONS:
        raise SnapshotError(f"the state has version {version}; this is for version {STATE_VERSION}", str(path))
    if missing := STATE.keys() - sums:
        raise SnapshotError(f"the list has no {', '.join(sorted(missing))}", str(path))
    return sums


def _numbered(folder: Path) -> list[Path]:
    """The snapshots in a folder, the last one last."""
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted((path for path in found if path.name.isdecimal()), key=lambda path: int(path.name))


def _ipc(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _write(path: Path, data: pa.Buffer | bytes) -> int:
    """Put data on disk, and give its checksum."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return zlib.crc32(data)


def _sync(folder: Path) -> None:
    """Names are on disk only when their folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path, crc: int) -> pa.Table:
    data = _contents(path)
    if zlib.crc32(data) != crc:
        raise SnapshotError("the file is damaged", str(path))
    try:
        return pa.ipc.open_file(data).read_all()
    except pa.ArrowException as error:
        raise SnapshotError(f"the file is not an Arrow file: {error}", str(path)) from None


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SnapshotError(f"the file cannot be read: {error.strerror}", str(path)) from None
