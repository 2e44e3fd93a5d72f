"""Python functions of users: found, imported and called. Only a processor's worker does so (docs/functions.md)."""
