"""The rows of a text: tables, records, logs, listings; of any other text its lines."""
