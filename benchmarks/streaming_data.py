"""The data of the keyed count: readings of many sensors as JSON lines, the same in every run."""

from pathlib import Path

import numpy as np

FILES, ROWS_PER_FILE, KEYS = 4, 1_000_000, 100_000
ROWS = FILES * ROWS_PER_FILE

_LINE = '{"sensor":"sensor-%06d","value":%d,"at":"2024-05-01T%02d:%02d:%02d.%03dZ","site":"%s"}\n'
_SITE = "hall 4, third row from the window, second shelf, left of the door"


def make_readings(folder: Path) -> None:
    """Write the files, about 150 bytes a row, keys in random order."""
    folder.mkdir(parents=True)
    for number in range(FILES):
        random = np.random.default_rng(number)
        keys = random.integers(0, KEYS, ROWS_PER_FILE).tolist()
        values = random.integers(0, 1_000, ROWS_PER_FILE).tolist()
        with (folder / f"{number}.json").open("w", encoding="utf-8") as file:
            file.writelines(
                _LINE % (key, value, at // 3_600_000, at // 60_000 % 60, at // 1_000 % 60, at % 1_000, _SITE)
                for at, (key, value) in enumerate(zip(keys, values, strict=True))
            )
