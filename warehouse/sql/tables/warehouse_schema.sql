-- Grain: one row: which form of the tables and views this warehouse has, so that opening it costs one look.
create table if not exists warehouse_schema (
    digest VARCHAR
)
