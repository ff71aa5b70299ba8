"""Excerpts: the parts of a long text that matter most, within a budget."""
