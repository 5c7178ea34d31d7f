"""Readers of other systems' evidence."""
