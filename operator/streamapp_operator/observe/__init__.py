"""Read the world into values: the API server's objects, partition counts from brokers, documents and their copies."""
