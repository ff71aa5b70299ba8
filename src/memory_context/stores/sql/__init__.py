"""The store in SQLite or PostgreSQL. `sqlalchemy_store` has its public class; statements run through `transactions`."""
