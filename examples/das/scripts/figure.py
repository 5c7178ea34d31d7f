"""Draw the stacked correlations as a PNG (written by hand: no plotting library is needed)."""

import struct
import zlib
from pathlib import Path

import h5py
import numpy as np


def png(grey: np.ndarray) -> bytes:
    height, width = grey.shape
    rows = b"".join(b"\0" + row.tobytes() for row in grey.astype(np.uint8))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


with h5py.File(snakemake.input[0], "r") as source:  # noqa: F821 - given by Snakemake
    stack = source["stack"][...]

scaled = 255 * (stack - stack.min()) / max(float(np.ptp(stack)), 1e-9)
with Path(snakemake.output[0]).open("wb") as target:  # noqa: F821
    target.write(png(np.kron(scaled, np.ones((12, 4)))))
