"""Placement from Kubernetes."""
