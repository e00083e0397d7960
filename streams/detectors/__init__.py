"""Pure detectors: limits, state, step."""
