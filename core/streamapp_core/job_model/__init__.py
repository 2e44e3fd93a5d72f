"""The job model: who does what, as one versioned document (design 6 and 12)."""
