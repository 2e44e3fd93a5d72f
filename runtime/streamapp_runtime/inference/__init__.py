"""Samples of sources that no app declares yet, and first apps that read them (`streamapp init`)."""
