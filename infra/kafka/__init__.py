"""Apache Kafka on this machine, without Docker."""
