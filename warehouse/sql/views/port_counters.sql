-- Grain: cluster x device x port x scrape. Running totals as the device keeps them; port_rates has what changed.
-- Subtract only within one epoch. Never add the two ends of a cable.
create or replace view port_counters as
select * from port_scrapes
where port is not null
