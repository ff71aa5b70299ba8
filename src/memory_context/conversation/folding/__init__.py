"""Put references in place of large texts: as they arrive, or after a model has read them."""
