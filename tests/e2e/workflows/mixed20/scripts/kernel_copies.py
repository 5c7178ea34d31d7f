"""Copy without passing the data through the program."""

import os
import shutil

source, outputs = snakemake.input[0], snakemake.output  # noqa: F821 - given by Snakemake
size = os.stat(source).st_size
with open(source, "rb") as one, open(outputs[0], "wb") as other:
    os.sendfile(other.fileno(), one.fileno(), 0, size)
shutil.copyfile(source, outputs[1])
with open(source, "rb") as one, open(outputs[2], "wb") as other:
    os.copy_file_range(one.fileno(), other.fileno(), size)
