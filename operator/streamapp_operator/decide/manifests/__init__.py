"""The objects that the Kubernetes operator makes for an app, as pure functions: equal inputs give equal manifests."""
