"""Questions about runs: show, lineage, why, declared against observed. No printing.

Each module answers one question with frozen dataclasses that have ``to_json()``.
They read a generation only through ``source.Source``, in SQL that DuckDB and
SQLite both speak. How answers look is in ``provio.report``.
"""
