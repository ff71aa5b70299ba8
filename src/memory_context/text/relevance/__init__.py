"""Find the records of texts that a message or a question is about, by the words and names that it shares with them."""
