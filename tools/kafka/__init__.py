"""A real Kafka broker for tests and laptops: `make kafka`, or the pytest fixture `kafka`."""
