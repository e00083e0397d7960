"""Scheduled rollups, checks and reports over the warehouse."""
