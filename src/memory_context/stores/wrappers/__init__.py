"""Stores around stores: compression, encryption, redaction."""
