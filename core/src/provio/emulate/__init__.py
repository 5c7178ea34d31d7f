"""Workflow specifications to runnable workflows with a known answer."""
