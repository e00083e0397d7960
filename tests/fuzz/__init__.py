"""Every parser against bytes that nobody meant it to read."""
