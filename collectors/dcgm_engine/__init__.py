"""GPUs by DCGM's own bindings: an engine in this process, or nv-hostengine."""
