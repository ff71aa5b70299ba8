"""The formats in which runs are recorded; each is converted to messages of OpenAI's chat format."""
