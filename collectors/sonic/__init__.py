"""SONiC: the counters database, from gNMI or from a dump."""
