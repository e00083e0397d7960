"""Switch and NIC counters: what each source calls them, what they are, and how they become columns."""
