"""``python -m provio`` is the command line; the sealer is started this way, whatever PATH says."""

from __future__ import annotations

from provio.cli import main

if __name__ == "__main__":
    main()
