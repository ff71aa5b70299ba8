"""An agent's own folder of text files.

`agent_file_service` has the public class; `file_handles` keeps all access inside the folder.
"""
