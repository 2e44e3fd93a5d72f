"""Fences: which epoch of a transactional id may commit."""

import sqlite3

from streamapp_systems.protocols import Fenced, Transactional


def take_over(connection: sqlite3.Connection, owner: Transactional) -> None:
    """Make this epoch the one that may commit; call it in a write transaction.

    Raises:
        Fenced: a later epoch has taken over already.
    """
    check(connection, owner)
    connection.execute("INSERT OR REPLACE INTO fences (id, epoch) VALUES (?, ?)", (owner.id, owner.epoch))


def check(connection: sqlite3.Connection, owner: Transactional) -> None:
    """Go on only if no later epoch has taken over.

    Raises:
        Fenced: one has.
    """
    row = connection.execute("SELECT epoch FROM fences WHERE id = ?", (owner.id,)).fetchone()
    if row is not None and row[0] > owner.epoch:
        raise Fenced(f"{owner.id}: epoch {row[0]} has taken over from epoch {owner.epoch}, whose work ends here")
