"""Put references in place of large texts: as they come in, or after a model has read them."""
