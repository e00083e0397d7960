"""Which GPUs a scheduler gave to which job, told as it changes."""
