"""Bring back what the newest message needs: what it asks for, where that stands, and who decides."""
