"""One module per tracing backend: availability, how to arm it, how to read its records. Knows no tasks."""
