"""Convert a raw acoustic file to HDF5."""

import argparse
import struct
import sys
from pathlib import Path

import h5py
import numpy as np

HEADER = struct.Struct("<8sIII")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--fails", default="False")
    parser.add_argument("--attempt", type=int, default=1)
    options = parser.parse_args()
    with Path(options.source).open("rb") as raw:
        magic, channels, samples, rate = HEADER.unpack(raw.read(HEADER.size))
        if magic != b"DASRAW1\0" or rate != options.rate:
            sys.exit(f"{options.source}: not a raw file of {options.rate} samples per second")
        if options.fails == "True" and options.attempt == 1:
            sys.exit(f"{options.source}: the recorder has not finished this file yet")  # planted: fails once
        data = np.frombuffer(raw.read(), "<i2").reshape(channels, samples)
    with h5py.File(options.target, "w") as target:
        target.create_dataset("acoustic", data=data, chunks=(channels, 1000))
        target["acoustic"].attrs["rate"] = rate
    print(f"{options.source}: {channels} channels, {samples} samples")


if __name__ == "__main__":
    main()
