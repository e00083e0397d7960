"""What PyTorch's flight recorder dumps when a collective hangs."""
