"""Remote write of Prometheus, 1.0 and 2.0: pushed samples become the messages of their scrapes."""
