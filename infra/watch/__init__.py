"""The live view: incidents, the fleet, rates."""
