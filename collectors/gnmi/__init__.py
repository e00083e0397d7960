"""Switches over gNMI: subscription, decoding, reconnection."""
