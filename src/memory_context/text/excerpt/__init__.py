"""The segments of a long text that matter most, within a budget."""
