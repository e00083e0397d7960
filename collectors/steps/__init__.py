"""What training ranks say of their steps: the client that they import, and the collector that listens."""
