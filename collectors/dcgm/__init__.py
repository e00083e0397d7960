"""GPUs of a node, from the text pages of dcgm-exporter."""
