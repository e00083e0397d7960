"""The kernel log of a node, as events."""
