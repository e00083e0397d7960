"""Where exporters listen, found out from what a site already keeps: Kubernetes, DNS, Slurm."""
