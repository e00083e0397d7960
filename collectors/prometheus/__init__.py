"""History of a Prometheus, VictoriaMetrics or Thanos, over `query_range`."""
