"""``python -m provio.cli`` is the command line, for where the script is not on PATH."""

from __future__ import annotations

from provio.cli import main

if __name__ == "__main__":
    main()
