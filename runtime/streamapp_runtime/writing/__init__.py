"""What tasks write through: rows gathered per stream and partition, sent with the commit."""
