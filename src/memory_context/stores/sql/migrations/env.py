"""Runs the migrations on the connection that `memory_context.stores.sql.migrate.upgrade` hands over."""

from alembic import context

from memory_context.stores.sql.schema import metadata, version

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=version.name,
    render_as_batch=True,
)
context.run_migrations()
