"""What the Kubernetes operator sees of the cluster: a cache of its objects, and typed views of them."""
