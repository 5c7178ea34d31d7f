"""Contract test classes for authors of tracers and engines. Public API."""
