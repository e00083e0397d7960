"""Results of nccl-tests, NVIDIA's benchmark of collectives."""
