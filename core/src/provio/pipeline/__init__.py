"""Composes readers, reconcile and store; the only importer of all three."""
