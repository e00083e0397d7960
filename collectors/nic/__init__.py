"""Host NICs: driver statistics, PCIe links, and which GPUs sit by which NIC."""
