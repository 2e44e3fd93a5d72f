"""Metadata of an app: small documents that outlive its driver (design 6)."""
