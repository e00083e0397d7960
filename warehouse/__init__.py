"""Every sample, queryable: tables, the loader and `connect()`."""
