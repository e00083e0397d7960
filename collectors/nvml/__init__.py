"""GPUs of this host, by NVML."""
