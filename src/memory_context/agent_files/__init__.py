"""An agent's own folder of text files. `service` has the public class; `handles` keeps all access inside the folder."""
