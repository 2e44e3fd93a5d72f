"""Mutations of the embedded log: see `simulation.mutation_catalog`."""

from simulation.fault_schedules import FaultKind
from simulation.mutation import Mutation
from support.changed_packages import Change

_LOG = "systems/streamapp_systems/log"

LOG_MUTATIONS = (
    Mutation(
        name="commits of the log are not synced",
        changes=(
            Change(
                file=f"{_LOG}/log_database.py",
                old='"PRAGMA synchronous = FULL"',
                new='"PRAGMA synchronous = NORMAL"',
            ),
        ),
        needs=frozenset({FaultKind.KILL_MACHINE}),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="the log has no journal, so that a transaction that was being written is believed",
        changes=(
            Change(
                file=f"{_LOG}/log_database.py",
                old='"PRAGMA journal_mode = WAL"',
                new='"PRAGMA journal_mode = MEMORY"',
            ),
        ),
        needs=frozenset({FaultKind.KILL_MACHINE}),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="the statements of a transaction of the log commit one by one",
        changes=(
            Change(
                file=f"{_LOG}/log_database.py",
                old='        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")\n',
                new='        write or connection.execute("BEGIN")\n',
            ),
            Change(
                file=f"{_LOG}/log_database.py",
                old='            connection.execute("COMMIT")\n',
                new='            write or connection.execute("COMMIT")\n',
            ),
        ),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="the log writes the ends of partitions before their records",
        changes=(
            Change(
                file=f"{_LOG}/producer.py",
                old="            check_turn(",
                new="            inserts = []\n            check_turn(",
            ),
            Change(
                file=f"{_LOG}/producer.py",
                old="self._append(ssp, self._sent[ssp]) for ssp in sorted(self._sent)}\n",
                new=(
                    "self._append(ssp, self._sent[ssp], inserts) for ssp in sorted(self._sent)}\n"
                    "        with transaction(self._connection, self._path, write=True):\n"
                    "            for insert in inserts:\n"
                    "                self._connection.executemany(*insert)\n"
                ),
            ),
            Change(
                file=f"{_LOG}/producer.py",
                old="def _append(self, ssp: Ssp, records: list[_Record]) -> int:",
                new="def _append(self, ssp, records, inserts):",
            ),
            Change(
                file=f"{_LOG}/producer.py",
                old=(
                    "        self._connection.executemany(\n"
                    '            "INSERT INTO records (id, timestamp, key, value) VALUES (?, ?, ?, ?)",\n'
                    "            ((row, *record) for row, record in enumerate(records, first)),\n"
                    "        )\n"
                ),
                new=(
                    '        inserts.append(("INSERT INTO records (id, timestamp, key, value) VALUES (?, ?, ?, ?)",\n'
                    "            [(row, *record) for row, record in enumerate(records, first)]))\n"
                ),
            ),
        ),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="a fence of the log is not checked at the commit",
        changes=(
            Change(
                file=f"{_LOG}/producer.py",
                old="            check_turn(self._connection, self._owner, self._turn)\n",
                new="",
            ),
        ),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="fences are not written to the log's file",
        changes=(
            Change(
                file=f"{_LOG}/log_database.py",
                old="            _prepare(connection, path)\n",
                new=(
                    "            _prepare(connection, path)\n"
                    '            connection.execute(_TABLES[2].replace("CREATE", "CREATE TEMP"))\n'
                ),
            ),
        ),
        shows=frozenset({"embedded"}),
    ),
    Mutation(
        name="the log gives offsets before it is locked",
        changes=(
            Change(
                file=f"{_LOG}/producer.py",
                old="            check_turn(",
                new="            self._shards = shards\n            check_turn(",
            ),
            Change(
                file=f"{_LOG}/producer.py",
                old="            return {}\n",
                new=(
                    "            return {}\n"
                    "        shards = {ssp: find_shard(self._connection, self._streams, ssp) for ssp in self._sent}\n"
                ),
            ),
            Change(
                file=f"{_LOG}/producer.py",
                old="shard = find_shard(self._connection, self._streams, ssp)",
                new="shard = self._shards[ssp]",
            ),
        ),
        shows=frozenset({"embedded"}),
    ),
)
