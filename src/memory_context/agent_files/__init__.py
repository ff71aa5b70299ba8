"""An agent's own folder of text files: `service` is the front, `handles` keeps paths and links inside."""
