"""Keys that are not in the partition where their hash belongs (docs/kafka.md)."""

from collections.abc import MutableMapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_core.plan.partition_claims import PartitionClaim
from streamapp_core.spec.streams import KeyFormat
from streamapp_runtime.rows.partitioning import BINARY_WIDTHS, key_texts, partition_numbers


@dataclass(frozen=True, slots=True)
class MisplacedKey:
    """The position of a key among those that were checked, and the initial partition or the file where it belongs."""

    position: int
    belongs_in: int


def misplaced_keys(keys: pa.ChunkedArray, partition: int, claim: PartitionClaim) -> list[MisplacedKey]:
    """Return the keys in a partition whose hash belongs elsewhere, in their order; null belongs in 0, if anywhere.

    Numbers that are too large for the claim's format have no hash and are not checked.
    """
    positions = np.flatnonzero(_checkable(keys, claim))
    hashed = keys.take(pa.array(positions))
    numbers = partition_numbers(hashed, claim.initial_count, claim.key_format)
    wrong = np.flatnonzero(numbers != claim.initial_partitions[partition])
    return [MisplacedKey(int(positions[place]), int(numbers[place])) for place in wrong]


def keys_of_other_files(
    keys: pa.ChunkedArray, partition: int, claim: PartitionClaim, known: MutableMapping[bytes | None, int], limit: int
) -> list[MisplacedKey]:
    """Return the keys in a file that are `known` from another one, and remember the others, up to a limit."""
    found = []
    checked = _checkable(keys, claim)
    for position, key in enumerate(key_texts(keys.combine_chunks()).to_pylist()):
        if not checked[position]:
            continue
        file = known.get(key, partition)
        if file != partition:
            found.append(MisplacedKey(position, file))
        elif len(known) < limit:
            known[key] = partition
    return found


def _checkable(keys: pa.ChunkedArray, claim: PartitionClaim) -> npt.NDArray[np.bool_]:
    """Return which keys have a place at all."""
    checked = pa.chunked_array([pa.repeat(True, len(keys))]) if claim.nulls_meet else keys.is_valid()
    if claim.hashed and claim.key_format is not KeyFormat.STRING:
        width = pa.int32() if BINARY_WIDTHS[claim.key_format] == pa.int32().byte_width else pa.int64()
        fits = pc.equal(keys.cast(width, safe=False), keys)
        checked = pc.and_(checked, pc.fill_null(fits, fill_value=True))
    found: npt.NDArray[np.bool_] = checked.to_numpy()
    return found
