"""The types of streams: what is known of the rows on every edge of the graph, and what operators need of them."""
