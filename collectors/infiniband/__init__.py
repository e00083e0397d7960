"""InfiniBand: what a host reads in sysfs, and what a management host asks of the fabric."""
