"""Which nodes are in service, which are out of it on purpose, and in which racks they stand."""
