"""Recall what the newest message needs: which terms it has, where they stand in stored texts, and who decides."""
