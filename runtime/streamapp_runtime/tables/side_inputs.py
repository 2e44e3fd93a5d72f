"""The side inputs of one owner, a task or a processor: the tables that they fill, and their positions."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.tables.adjunct_store import AdjunctStore
from streamapp_runtime.tables.lookup_table import LookupTable

_RECORD_MILLISECONDS = 60_000


class SideInputs:
    """Fills the tables of one owner. Their rows reach no operator, their ends and times affect no watermark."""

    def __init__(
        self, stores: Sequence[AdjunctStore], *, commit: Callable[[], None], time_of_day: Callable[[], int]
    ) -> None:
        """Take the stores and their local commit; `time_of_day` returns milliseconds since 1970."""
        self.stores = tuple(stores)
        self._commit = commit
        self._time_of_day = time_of_day
        self._recorded_at = time_of_day()
        self._filled: dict[Ssp, list[AdjunctStore]] = {}
        for store in stores:
            for ssp in store.positions:
                self._filled.setdefault(ssp, []).append(store)

    @property
    def tables(self) -> Mapping[str, LookupTable]:
        """The tables by name."""
        return {store.name: store.table for store in self.stores}

    @property
    def positions(self) -> dict[Ssp, InputPosition]:
        """The position of each partition: if it fills several tables, that of the table furthest behind."""
        return {
            ssp: min((store.positions[ssp] for store in stores), key=lambda position: position.offset)
            for ssp, stores in self._filled.items()
        }

    def reads(self, ssp: Ssp) -> bool:
        """Return whether a partition fills a table here."""
        return ssp in self._filled

    def has_ended(self, ssp: Ssp) -> bool:
        """Return whether a bounded partition has been read to its end."""
        return all(ssp in store.ended for store in self._filled[ssp])

    def bootstrap_lag(self) -> dict[Ssp, int]:
        """Return how many offsets of which partitions are still to be read before any other input."""
        lag: dict[Ssp, int] = {}
        for store in self.stores:
            for ssp, offsets in store.bootstrap_lag().items():
                lag[ssp] = max(offsets, lag.get(ssp, 0))
        return lag

    def take(self, decoded: DecodedBatch) -> None:
        """Apply a batch of one partition to the tables it fills."""
        for store in self._filled[decoded.ssp]:
            store.take(decoded)

    def write_records(self) -> None:
        """Write the positions of the side inputs into their stores: they commit next."""
        self._recorded_at = self._time_of_day()
        for store in self.stores:
            store.write_record(self._recorded_at)

    def commit(self) -> None:
        """Commit the stores with their positions."""
        self.write_records()
        self._commit()

    def commit_unchanged(self) -> None:
        """Commit the records once a minute, though nothing came: stores of quiet side inputs stay young."""
        if self.stores and abs(self._time_of_day() - self._recorded_at) >= _RECORD_MILLISECONDS:
            self.commit()
