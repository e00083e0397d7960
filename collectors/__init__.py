"""Reading devices, files and the network; the messages that sources send."""
