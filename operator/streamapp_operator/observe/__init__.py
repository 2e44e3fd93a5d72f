"""Read the world into values: the API server's objects, brokers, and documents that were lost."""
