"""The check of declared keys, on samples of the rows that are read (docs/kafka.md, "Claims are checked")."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from streamapp_core.plan.partition_claims import PartitionClaim, advise_on_claim
from streamapp_core.plan.plan import PlannedOperator
from streamapp_core.spec.job import OnBrokenClaim
from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import ClaimBroken
from streamapp_runtime.processor.processor_report import BrokenClaimReport
from streamapp_runtime.rows.file_key_sample import FileKeySample
from streamapp_runtime.rows.misplaced_keys import MisplacedKey, keys_of_other_files, misplaced_keys
from streamapp_runtime.rows.record_keys import RecordKey

_FIRST_ROWS = 100
"""Rows of each partition that are checked at once after a start."""
_ROWS = 10
"""Rows of a partition that are checked later, each time."""
_SECONDS = 2.0
"""The time between two such checks of a partition, at least."""
_CHECKS_PER_SECOND = 20
"""Checks of all partitions of a processor together, which take 0.2 ms each: less than a hundredth of a core."""
_KNOWN_KEYS = 10_000
"""Keys of files that are remembered."""
_SAMPLED_ROWS = 2_000
"""The first rows of each file, of whose keys a sample is compared with those of other processors."""
_SAMPLED_KEYS = 256
"""Keys of a stream's files in a processor's sample."""


@dataclass(slots=True)
class _PartitionSample:
    checked: int = 0
    next_check: float = 0.0
    compared: int = 0


class ClaimChecker:
    """Checks samples of rows: the first ones of every partition, and then some of them now and then, at random.

    Used by one thread. Streams without a claim cost a look-up per batch.
    """

    def __init__(
        self,
        claims: Mapping[str, PartitionClaim],
        on_broken_claim: OnBrokenClaim,
        clock: Callable[[], float],
        random: Random,
    ) -> None:
        """Take the claims by stream; `clock` counts seconds; samples are taken at `random`."""
        self._claims = claims
        self._stops = on_broken_claim is OnBrokenClaim.FAIL
        self._clock = clock
        self._random = random
        self._samples: dict[Ssp, _PartitionSample] = {}
        self._known: dict[str, dict[bytes | None, int]] = {}
        self._file_keys = {name: FileKeySample(_SAMPLED_KEYS) for name, claim in claims.items() if not claim.hashed}
        self._checked: dict[str, int] = {}
        self._broken: dict[str, tuple[int, str]] = {}

    def check(self, ssp: Ssp, rows: pa.Table, offset_of: Callable[[int], int]) -> None:
        """Check some rows of a batch, if it is time; `offset_of` returns the offset of a row.

        Raises:
            ClaimBroken: a row is not where its key belongs, and that stops the app.
        """
        claim = self._claims.get(ssp.stream)
        if claim is None or not len(rows):
            return
        sample = self._samples.setdefault(ssp, _PartitionSample())
        if not claim.hashed and sample.compared < _SAMPLED_ROWS:
            first = _keys(rows.slice(0, _SAMPLED_ROWS - sample.compared), claim)
            self._file_keys[ssp.stream].add(first, ssp.partition)
            sample.compared += len(first)
        positions = self._choose(sample, len(rows))
        if not positions:
            return
        keys = _keys(rows.select(list(claim.columns)).take(pa.array(positions)), claim)
        found = self._misplaced(keys, ssp.partition, claim)
        self._checked[ssp.stream] = self._checked.get(ssp.stream, 0) + len(positions)
        if not found:
            return
        count, example = self._broken.get(ssp.stream, (0, ""))
        if not example:
            first = found[0]
            example = _message(ssp, offset_of(positions[first.position]), keys[first.position].as_py(), first, claim)
        if self._stops:
            raise ClaimBroken(f"{example} {advise_on_claim(claim)}")
        self._broken[ssp.stream] = count + len(found), example

    def note_null_keys(self, operator: PlannedOperator, task: str, column: str, rows: int) -> None:
        """Note rows without a key that a group would take in another task than that of partition 0.

        Raises:
            ClaimBroken: that stops the app.
        """
        streams = sorted(operator.streams & self._claims.keys()) or sorted(operator.streams)
        example = (
            f"{rows} row{'' if rows == 1 else 's'} without `{column}` reached `{operator.name}` in task `{task}`: rows "
            f"without a key are one group, which the task of partition 0 computes, and producers put them anywhere."
        )
        if self._stops:
            raise ClaimBroken(
                f"{example} The results of several tasks would be wrong. Leave such rows out of "
                f"{', '.join(f'`{stream}`' for stream in streams)} (`filter: {column} is not null`), or put a "
                f"`partitionBy` with the key `{column}` before `{operator.name}`; then begin a new run. "
                "`spec.job.onBrokenClaim: report` goes on and counts such rows"
            )
        for stream in streams:
            count, first = self._broken.get(stream, (0, example))
            self._broken[stream] = count + rows, first
            self._checked[stream] = self._checked.get(stream, 0) + rows

    def broken(self) -> dict[str, BrokenClaimReport]:
        """Return what was found of streams with misplaced rows."""
        return {
            stream: BrokenClaimReport(checked=self._checked[stream], misplaced=count, example=example)
            for stream, (count, example) in self._broken.items()
        }

    def file_keys(self) -> dict[str, dict[str, int]]:
        """Return samples of the keys of files, by stream, with the numbers of their files."""
        return {stream: sample.files for stream, sample in self._file_keys.items()}

    def _choose(self, sample: _PartitionSample, count: int) -> list[int]:
        """Return the positions of the rows to check now."""
        if sample.checked < _FIRST_ROWS:
            wanted = _FIRST_ROWS - sample.checked
        elif (now := self._clock()) >= sample.next_check:
            wanted = _ROWS
            sample.next_check = now + max(_SECONDS, len(self._samples) / _CHECKS_PER_SECOND)
        else:
            return []
        sample.checked += min(wanted, count)
        return list(range(count)) if count <= wanted else sorted(self._random.sample(range(count), wanted))

    def _misplaced(self, keys: pa.ChunkedArray, partition: int, claim: PartitionClaim) -> list[MisplacedKey]:
        if claim.hashed:
            return misplaced_keys(keys, partition, claim)
        known = self._known.setdefault(claim.stream, {})
        return keys_of_other_files(keys, partition, claim, known, _KNOWN_KEYS)


def _keys(rows: pa.Table, claim: PartitionClaim) -> pa.ChunkedArray:
    """Return the keys of rows."""
    return RecordKey(claim.columns, claim.fields).values(rows)


def _message(ssp: Ssp, offset: int, key: object, misplaced: MisplacedKey, claim: PartitionClaim) -> str:
    shown = f"{claim.columns[0]} = {key!r}" if len(claim.columns) == 1 else key
    text = f"{ssp}, offset {offset}: the row with key {shown}"
    if not claim.hashed:
        return f"{text} is in file {ssp.partition}, but rows of that key are in file {misplaced.belongs_in}, too."
    belongs = [n for n, initial in enumerate(claim.initial_partitions) if initial == misplaced.belongs_in]
    return f"{text} is in partition {ssp.partition}, but belongs in {' or '.join(map(str, belongs))} by murmur2 of it."
