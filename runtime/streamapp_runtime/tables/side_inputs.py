"""The side inputs of one owner, a task or a processor: which of its tables they fill, and how far they are."""

from collections.abc import Callable, Mapping, Sequence

from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_runtime.tables.adjunct_store import AdjunctStore
from streamapp_runtime.tables.lookup_table import LookupTable


class SideInputs:
    """Fills the tables of one owner. Their rows reach no operator, their ends and times nobody's watermark."""

    def __init__(
        self, stores: Sequence[AdjunctStore], *, commit: Callable[[], None], time_of_day: Callable[[], int]
    ) -> None:
        """Take what commits the stores when nothing else is to be committed with them."""
        self.stores = tuple(stores)
        self._commit = commit
        self._time_of_day = time_of_day
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
        """How far each partition has been read: of those that fill several tables, for the one that is behind."""
        return {
            ssp: min((store.positions[ssp] for store in stores), key=lambda position: position.offset)
            for ssp, stores in self._filled.items()
        }

    def reads(self, ssp: Ssp) -> bool:
        """Whether a partition fills a table here."""
        return ssp in self._filled

    def has_ended(self, ssp: Ssp) -> bool:
        """Whether a bounded partition has been read to its end."""
        return all(ssp in store.ended for store in self._filled[ssp])

    def bootstrap_lag(self) -> dict[Ssp, int]:
        """Tell how many offsets of which partitions are still to be read before any other input."""
        behind: dict[Ssp, int] = {}
        for store in self.stores:
            for ssp, offsets in store.bootstrap_lag().items():
                behind[ssp] = max(offsets, behind.get(ssp, 0))
        return behind

    def take(self, decoded: DecodedBatch) -> None:
        """Fill tables with what was read of one partition."""
        for store in self._filled[decoded.ssp]:
            store.take(decoded)

    def write_records(self) -> None:
        """Bring how far the stores are into them: they commit next."""
        now = self._time_of_day()
        for store in self.stores:
            store.write_record(now)

    def commit(self) -> None:
        """Make the stores last, with how far they are."""
        self.write_records()
        self._commit()
