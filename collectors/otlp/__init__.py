"""OpenTelemetry metrics over OTLP, HTTP and gRPC: into the same scrapes as remote write."""
