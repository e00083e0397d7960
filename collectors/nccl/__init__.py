"""The files that NCCL's Inspector plug-in writes."""
