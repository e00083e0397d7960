"""A slow job, question by question."""
