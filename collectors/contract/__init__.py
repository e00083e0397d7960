"""What collectors promise to every reader: message types, topics and the wire form."""
