"""Keys: how a key becomes a partition, exactly as Kafka's Java producers do it."""
