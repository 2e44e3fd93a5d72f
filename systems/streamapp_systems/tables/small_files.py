"""The small files of a table that are worth joining.

Files of a partition are joined, the smallest first, where together they have twice the bytes of the largest among them:
so each time that a row is written again, its file doubles at least, and it is written as often as the logarithm of the
largest size at most.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from streamapp_systems.tables.output_table import LiveFile

FEWEST = 5
"""Fewer files of a partition are left as they are."""
MOST = 1_000
"""Files that a commit joins at most."""


def choose_small_files(files: Iterable[LiveFile], largest: int) -> Sequence[Sequence[LiveFile]]:
    """Return the files that are worth joining, by partition, each in the order in which they came.

    Together they have no more than `largest` bytes: those of the partitions where it saves most files, first.
    """
    partitions: dict[tuple[tuple[str, str | None], ...], list[LiveFile]] = defaultdict(list)
    for file in files:
        if file.size < largest:
            partitions[file.partition].append(file)
    groups = sorted((_joinable(some, largest) for some in partitions.values()), key=len, reverse=True)
    chosen: list[Sequence[LiveFile]] = []
    size = count = 0
    for group in groups:
        size, count = size + sum(file.size for file in group), count + len(group)
        if not group or (chosen and (size > largest or count > MOST)):
            break
        chosen.append(sorted(group, key=lambda file: (file.added, file.path)))
    return chosen


def _joinable(files: Iterable[LiveFile], largest: int) -> Sequence[LiveFile]:
    """Return the most files of a partition that are worth joining into one."""
    ordered = sorted(files, key=lambda file: (file.size, file.path))[:MOST]
    total = found = 0
    for count, file in enumerate(ordered, 1):
        total += file.size
        if total > largest:
            break
        if count >= FEWEST and total >= 2 * file.size:
            found = count
    return ordered[:found]
