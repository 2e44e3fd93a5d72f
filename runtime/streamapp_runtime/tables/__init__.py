"""Tables: keyed stores that operators look up (docs/adjunct-stores.md)."""
