"""Operators that are written in SQL become operators of the other kinds, before anything is planned (docs/sql.md)."""
