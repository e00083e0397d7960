"""Placement from Slurm."""
