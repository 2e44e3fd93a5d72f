"""The app that `growth` has, of messages of Avro that some are none of, whose rows also go to a table of Delta.

What can't be read is a dead letter; the table is read back by another library.
"""

import base64
import io
import json
from collections import Counter

import fastavro
from deltalake import DeltaTable

from support.growth import Growing

SCHEMA = {
    "type": "record",
    "name": "Row",
    "fields": [{"name": "k", "type": "int"}, {"name": "n", "type": ["null", "int"]}],
}
TABLE = "table"


class GrowingLake(Growing):
    """One app in a folder, its streams and its table; see `Growing`."""

    def document(self, **options) -> dict:
        """Give the app: what `Growing.document` does, and each row goes to the table, too."""
        document = super().document(onError="deadLetter", **options)
        spec = document["spec"]
        del spec["streams"]["in"]["schema"]
        spec["streams"]["in"] |= {"format": "avro", "avro": {"schema": json.dumps(SCHEMA)}}
        spec["systems"]["lake"] = {"delta": {"path": ".", "commitEvery": "200ms"}}
        spec["streams"][TABLE] = {"system": "lake", "folderColumns": ["half"]}
        spec["operators"] += [
            {"name": "halved", "from": "in", "map": "k, n, k % 2 as half"},
            {"name": "kept", "from": "halved", "sendTo": TABLE},
        ]
        return document

    def messages(self, row: dict) -> list[bytes]:
        """Give a row as Avro, every fifth behind a message that is none."""
        value = io.BytesIO()
        fastavro.schemaless_writer(value, SCHEMA, row)
        return [*([_broken(row)] if row["n"] % 5 == 0 else ()), value.getvalue()]

    def check(self) -> None:
        """Prove what `Growing.check` does, also of the table, and that each message that is none was kept once."""
        super().check()
        expected = Counter((key, n) for key, count in self.written.items() for n in range(count))
        rows = map(self.with_key, DeltaTable(self.folder / TABLE).to_pyarrow_table().to_pylist())
        assert Counter((row["k"], row["n"]) for row in rows) == expected
        letters = self.values(self.stream("_dead-letters", f"default.{self.name}"))
        found = Counter(base64.b64decode(json.loads(letter)["value"]) for letter in letters)
        broken = ({"k": self._number(key), "n": n} for key, n in expected if n % 5 == 0)
        assert found == Counter(map(_broken, broken))


def _broken(row: dict) -> bytes:
    return f"{row['k']} {row['n']}".encode()
