"""Metadata stores on disk."""
