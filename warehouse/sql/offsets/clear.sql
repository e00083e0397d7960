-- All rows go, and come back in the same transaction: the table stays one file of a row a partition.
delete from loader_offsets
