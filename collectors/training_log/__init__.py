"""What training frameworks print: steps, checkpoints, ends."""
