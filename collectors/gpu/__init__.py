"""What the sources that read this host's GPUs in process share."""
