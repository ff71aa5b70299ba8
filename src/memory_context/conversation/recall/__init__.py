"""Recall what the newest message needs: which terms it has, where stored texts contain them, and who decides."""
