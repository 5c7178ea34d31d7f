"""Read one file and write another through memory maps."""

import mmap

with open(snakemake.input[0], "rb") as source, open(snakemake.output[0], "w+b") as target:  # noqa: F821
    with mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as origin:
        target.truncate(len(origin))
        with mmap.mmap(target.fileno(), len(origin)) as copy:
            copy[:] = origin[::-1]
