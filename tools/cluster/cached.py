"""A cache of what is costly to make: once per set of inputs, outside the checkout, shared by all checkouts."""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.cluster.process import say, step
from tools.kafka.jars import default_cache, note_use

__all__ = ["default_cache", "kept", "key_of", "locked", "workplace"]


def key_of(*parts: str | Path | Iterable[Path]) -> str:
    """Return one short name for inputs: texts, files, or folders' files by name and content."""
    digest = hashlib.sha256()
    for part in parts:
        for item in [part] if isinstance(part, str | Path) else sorted(part):
            content = item.encode() if isinstance(item, str) else item.read_bytes()
            name = "" if isinstance(item, str) else item.name
            digest.update(f"{len(name)} {len(content)} {name} ".encode())
            digest.update(content)
    return digest.hexdigest()[:16]


@contextmanager
def locked(cache: Path, name: str) -> Iterator[None]:
    """Hold a lock among all processes of this machine; it ends with the process, however that ends."""
    locks = cache / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"== waiting for another process that works on {name}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(cache: Path, name: str, make: Callable[[Path], None], *, what: str) -> Path:
    """Return the folder `name` of the cache; if there is none, have `make` fill it.

    A name holds the key of its inputs, so a folder never changes. It appears when it is complete: an interrupted
    `make` leaves nothing that would be taken for it, and another process waits instead of doing the same work.
    """
    target = cache / name
    if target.is_dir():
        note_use(target)
        return target
    with locked(cache, name):
        if target.is_dir():
            return target
        say(f"== {what} (once; kept in {cache})")
        with workplace(cache, name) as work, step(name):
            make(work)
            work.rename(target)
    return target


@contextmanager
def workplace(cache: Path, name: str) -> Iterator[Path]:
    """Yield an empty folder in the cache, which goes at the end unless it was renamed.

    The caller holds the lock of that name. What an interrupted process has left goes first; its folder is never used
    again, as programs that it has started may still write there.
    """
    for left in cache.glob(f"{name}.unfinished-*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f"{name}.unfinished-", dir=cache))
    work.chmod(0o755)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
