"""Detectors, incidents, node health and alerts over the event log."""
