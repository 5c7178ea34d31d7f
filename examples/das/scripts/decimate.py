"""Average neighbouring samples; leave out bad channels."""

from pathlib import Path

import h5py
import numpy as np

with Path("bad_channels.txt").open() as listing:  # planted: no rule declares this file
    bad = [int(line) for line in listing if not line.startswith("#")]

factor = snakemake.params.factor  # noqa: F821 - given by Snakemake
with h5py.File(snakemake.input[0], "r") as source:  # noqa: F821
    data = source["acoustic"][...].astype("f4")
    rate = int(source["acoustic"].attrs["rate"])

channels, samples = data.shape
data[bad] = 0
reduced = data.reshape(channels, samples // factor, factor).mean(axis=2)
reduced -= reduced.mean(axis=1, keepdims=True)
with h5py.File(snakemake.output[0], "w") as target:  # noqa: F821
    target["acoustic"] = reduced.astype(np.float32)
    target["acoustic"].attrs["rate"] = rate // factor
