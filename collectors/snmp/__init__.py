"""Switches over SNMP: v2c and v3, read by GETBULK, for what has no gNMI."""
