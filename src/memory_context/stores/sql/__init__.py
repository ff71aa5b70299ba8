"""Memories in SQLite or PostgreSQL. `sqlalchemy_store` is the front; its statements run in `transactions`."""
