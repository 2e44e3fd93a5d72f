"""Queries of operators that are written in SQL: their text as a tree, with the place of each part (docs/sql.md)."""
