"""Kafka's jars from Maven Central: fetched once per version of their pom, shared by all checkouts."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tools.debian_package import install_package

POM = Path(__file__).with_name("pom.xml")
_INSTALL = {
    "mvn": ("maven", "Maven fetches Kafka's jars"),
    "java": ("openjdk-17-jre-headless", "Kafka runs on Java 17 or newer"),
}
_FETCH_SECONDS = 600


class BrokerError(Exception):
    """The broker can't run here; the message says what to do."""


def default_cache() -> Path:
    """Return the folder of downloads: `$STREAMAPP_CACHE`, else the user's cache folder."""
    return Path(os.environ.get("STREAMAPP_CACHE") or Path.home() / ".cache" / "streamapp")


def note_use(folder: Path) -> None:
    """Note in a folder of the cache that it is used (see `tools.unused`); not in somebody else's."""
    with suppress(PermissionError):
        os.utime(folder)


def kafka_jars(cache: Path, pom: Path = POM, goal: str = "copy-dependencies") -> Path:
    """Return the folder of jars that a pom names (`pom.xml`: the broker's), fetching them if they are not in the cache.

    `goal` is that of Maven's dependency plugin: `copy` takes what the plugin's configuration names, and nothing more.

    Several processes may do so at once: each fetches into a folder of its own, the first one's stays.

    Raises:
        BrokerError: Java or Maven is missing, or the download failed.
    """
    _require("java")
    jars = _folder(cache, pom)
    if jars.is_dir():
        note_use(jars)
        return jars
    _require("mvn")
    cache.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="kafka-", dir=cache))
    try:
        _fetch(work, pom, goal)
        if not jars.is_dir():
            (work / "jars").rename(jars)
    except OSError:
        if not jars.is_dir():
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return jars


def has_jars(cache: Path, pom: Path = POM) -> bool:
    """Return whether the jars that a pom names are in the cache."""
    return _folder(cache, pom).is_dir()


def _folder(cache: Path, pom: Path) -> Path:
    return cache / f"kafka-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}"


def _fetch(work: Path, pom: Path, goal: str) -> None:
    """Copy the jars to `work/jars`; Maven runs on a copy of the pom, so that it leaves nothing in the checkout."""
    shutil.copy(pom, work / "pom.xml")
    command = ["mvn", "-q", "-B", f"dependency:{goal}", "-DincludeScope=runtime", "-DoutputDirectory=jars"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, cwd=work, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise BrokerError(f"Maven did not fetch Kafka's jars in {_FETCH_SECONDS} s: check the network") from error
    if done.returncode:
        raise BrokerError(f"Maven could not fetch Kafka's jars:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _require(program: str) -> None:
    """Find a program; where that needs no questions (root, apt-get), install it.

    Raises:
        BrokerError: it is missing.
    """
    if shutil.which(program):
        return
    package, reason = _INSTALL[program]
    install_package(package)
    if not shutil.which(program):
        raise BrokerError(f"{reason}, and there is no `{program}`. Install it, e.g. apt-get install {package}")
