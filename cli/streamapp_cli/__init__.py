"""The `streamapp` command."""
