"""How Lockstep is run: local Kafka, the simulated fleet, the `lockstep` command."""
