"""The cable map of a site: who is cabled to whom, from a file that people or an inventory write."""
