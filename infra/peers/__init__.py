"""Parts that are not ours, built from their own source for tests: pinned, and checked by their sums."""
