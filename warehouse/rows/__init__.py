"""Messages into rows: pure functions from messages of one topic to Arrow tables."""
