"""The sealer: beside the collector, as another user, it takes exported spans and writes them into the audit store."""
