"""Put references in place of large texts: as they come in, or once they have been read."""
