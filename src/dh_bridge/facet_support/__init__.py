"""Code that facet modules share: their declaration, the context of a facet, and readers of common shapes."""
