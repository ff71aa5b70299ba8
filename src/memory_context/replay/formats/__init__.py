"""The forms in which runs are recorded, each read into messages of OpenAI's chat form."""
