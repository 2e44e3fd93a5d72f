"""Fences: of the producers with one transactional id, only the newest may commit.

A later epoch fences earlier ones; within an epoch the last producer that took the id over fences those before it.
"""

import sqlite3

from streamapp_systems.protocols import Fenced, TransactionOwner


def take_over(connection: sqlite3.Connection, owner: TransactionOwner) -> int:
    """Fence all earlier producers of the id and return this one's turn; called in a write transaction.

    Raises:
        Fenced: a later epoch has taken over already.
    """
    epoch, turn = _newest(connection, owner)
    if epoch > owner.epoch:
        raise _fenced(owner, epoch)
    connection.execute(
        "INSERT OR REPLACE INTO fences (id, epoch, turn) VALUES (?, ?, ?)", (owner.id, owner.epoch, turn + 1)
    )
    return turn + 1


def check_turn(connection: sqlite3.Connection, owner: TransactionOwner, turn: int) -> None:
    """Check that no producer has taken over since the owner's turn began.

    Raises:
        Fenced: one has.
    """
    epoch, newest = _newest(connection, owner)
    if epoch > owner.epoch:
        raise _fenced(owner, epoch)
    if newest != turn:
        raise Fenced(f"{owner.id}: a later producer of epoch {epoch} has taken over; the work of this one ends here")


def _newest(connection: sqlite3.Connection, owner: TransactionOwner) -> tuple[int, int]:
    row = connection.execute("SELECT epoch, turn FROM fences WHERE id = ?", (owner.id,)).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _fenced(owner: TransactionOwner, epoch: int) -> Fenced:
    return Fenced(f"{owner.id}: epoch {epoch} has taken over from epoch {owner.epoch}, whose work ends here")
