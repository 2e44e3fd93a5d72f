"""Samples of the keys that files hold: of all files the same keys, as far as possible, to compare the samples."""

import heapq

import numpy as np
import pyarrow as pa

from streamapp_runtime.rows.partitioning import key_hashes, key_texts


class FileKeySample:
    """The keys of some files with the lowest hashes, each with the file where it was found first.

    A key that two samples could have is in both or in none, unless one of them has found lower ones: so samples of few
    keys find what files have in common (a bottom-k sketch).
    """

    def __init__(self, limit: int) -> None:
        """Keep as many keys as the limit."""
        self._limit = limit
        self._found: dict[bytes, tuple[int, int]] = {}

    @property
    def files(self) -> dict[str, int]:
        """The numbers of the files by the texts of their keys."""
        return {text.decode(errors="backslashreplace"): file for text, (_, file) in self._found.items()}

    def add(self, keys: pa.ChunkedArray, file: int) -> None:
        """Add keys of a file; null is none."""
        distinct = keys.unique().drop_null()
        hashes = key_hashes(pa.chunked_array([distinct]))
        lowest = np.argsort(hashes, kind="stable")[: self._limit]
        texts = key_texts(distinct.take(pa.array(lowest))).to_pylist()
        added = {text: (int(hash_), file) for text, hash_ in zip(texts, hashes[lowest], strict=True)}
        self._found = dict(heapq.nsmallest(self._limit, {**added, **self._found}.items(), key=lambda item: item[1][0]))
