"""What NCCL's own log says of who is who."""
