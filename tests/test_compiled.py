"""Compiled code is kept until a source that it came from changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nearcast.match import compiled

INNER = "from nearcast.match.compiled import njit\n\n@njit\ndef inner() -> int:\n    return {}\n"
OUTER = """
from nearcast.inner import inner
from nearcast.match.compiled import njit

@njit
def outer() -> int:
    return inner()
"""
RUN = "import nearcast.outer as o; print(o.outer(), sum(o.outer.stats.cache_hits.values()))"


def package(root: Path, constant: int) -> None:
    """A copy of the module, and two of which one calls the other."""
    folder = root / "nearcast"
    (folder / "match").mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").touch()
    (folder / "match" / "__init__.py").touch()
    (folder / "match" / "compiled.py").write_bytes(Path(compiled.__file__).read_bytes())
    (folder / "inner.py").write_text(INNER.format(constant), encoding="utf-8")
    (folder / "outer.py").write_text(OUTER, encoding="utf-8")


def answer(root: Path, **environment: str) -> tuple[int, int]:
    """What the outer function says, and whether its code was kept."""
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment = {**known, "PYTHONPATH": str(root), **environment}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    said, hits = done.stdout.split()
    return int(said), int(hits)


def test_a_change_of_what_is_called_is_noticed(tmp_path: Path) -> None:
    package(tmp_path, 1)
    assert answer(tmp_path) == (1, 0)
    assert answer(tmp_path) == (1, 1)
    package(tmp_path, 2)
    assert answer(tmp_path) == (2, 0)
    kept = tmp_path / "nearcast" / "__pycache__"
    assert len(list(kept.glob("numba-outer-*"))) == 2
    for folder in kept.glob("numba-outer-*"):
        os.utime(folder, (0, 0))
    package(tmp_path, 3)
    assert answer(tmp_path) == (3, 0)
    assert len(list(kept.glob("numba-outer-*"))) == 1


def test_code_is_kept_where_the_user_says(tmp_path: Path) -> None:
    package(tmp_path, 1)
    asked = str(tmp_path / "kept")
    assert answer(tmp_path, NUMBA_CACHE_DIR=asked) == (1, 0)
    assert answer(tmp_path, NUMBA_CACHE_DIR=asked) == (1, 1)
    assert not list((tmp_path / "nearcast" / "__pycache__").glob("numba-*"))


def test_code_is_kept_in_the_user_s_folder_if_there_is_no_writing_beside_the_source(tmp_path: Path) -> None:
    package(tmp_path, 1)
    (tmp_path / "nearcast" / "__pycache__").touch()
    asked = str(tmp_path / "home")
    assert answer(tmp_path, XDG_CACHE_HOME=asked) == (1, 0)
    assert answer(tmp_path, XDG_CACHE_HOME=asked) == (1, 1)
    (tmp_path / "file").touch()
    assert answer(tmp_path, XDG_CACHE_HOME=str(tmp_path / "file")) == (1, 0)


def test_a_digest_covers_what_is_imported_however_far(tmp_path: Path) -> None:
    package(tmp_path, 1)
    found = compiled._closure(tmp_path, "nearcast.outer")
    assert {path.name for path in found} == {"outer.py", "inner.py", "compiled.py"}
    real = compiled._closure(compiled._ROOT, "nearcast.match.crossings")
    assert {"crossings.py", "discs.py", "globe.py", "notification.py"} <= {path.name for path in real}


def test_numba_s_own_setting_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled._CONFIG, "CACHE_DIR", "elsewhere")
    with compiled._keeping_in(Path("here")):
        assert compiled._CONFIG.CACHE_DIR == "here"
    assert compiled._CONFIG.CACHE_DIR == "elsewhere"
