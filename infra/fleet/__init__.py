"""A fleet of one physical model that speaks the source protocols."""
