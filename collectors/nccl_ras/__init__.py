"""NCCL's RAS: what its own threads know of every rank of a job."""
