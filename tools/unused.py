"""Folders of the cache that nobody has used for 30 days: `python -m tools.unused` removes them (`make cache-prune`).

Each is made again when somebody needs it. Their names hold the key of what they are made of; what one checkout does not
want any more another one may, so only the last use tells. It is the folder's own time.
"""

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tools.kafka.jars import default_cache

_LONG_SECONDS = 30 * 24 * 3600.0
_KEYED = re.compile(r"(python|pyspark|kubebox|kafka|native|(image|node|classes|checkers)-[a-z]+)-[0-9a-f]{16}(\..+)?")
"""Folders named by their keys; those with more to their names were not finished, or not removed to the end."""


def remove_unused(cache: Path, now: float) -> list[str]:
    """Remove what has not been used for 30 days before `now` (seconds since 1970), and name it."""
    found = [folder for folder in sorted(cache.glob("*-*")) if _KEYED.fullmatch(folder.name)]
    unused = [folder for folder in found if now - folder.stat().st_mtime > _LONG_SECONDS]
    for folder in unused:
        away = tempfile.mkdtemp(prefix=f"{folder.name}.removed-", dir=cache)
        shutil.rmtree(folder.rename(away))  # nobody finds one that is half removed
    return [folder.name for folder in unused]


def main() -> None:
    """Remove what is unused, and say what that was."""
    names = remove_unused(default_cache(), time.time())
    sys.stdout.write("".join(f"removed {name}\n" for name in names) or "all of it was used in the last 30 days\n")


if __name__ == "__main__":
    main()
