"""Makes rows of a table out of the changes of a database."""

import pyarrow as pa
import pyarrow.compute as pc


def current(changes: pa.Table) -> pa.Table:
    """Return each change's row under its id; a change with `op` d deletes it."""
    return pa.table(
        {
            "__key": changes["id"],
            "name": changes["name"],
            "city": changes["city"],
            "__deleted": pc.equal(changes["op"], "d"),
        }
    )
