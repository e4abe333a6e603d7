"""What facet modules share: lenient reading, kept leaves, and what is said alike by several facets."""
