"""What the Kubernetes operator and the driver agree on: names, and the documents they leave for each other."""
