"""Count the tokens of a text, or estimate them if the encoding's rank file is not available."""
