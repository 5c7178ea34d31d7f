"""Sum numbers by hand."""

with open(snakemake.input[0]) as source:  # noqa: F821 - given by Snakemake
    total = sum(int(line) for line in source)
with open(snakemake.output[0], "w") as target:  # noqa: F821
    print("total", total, file=target)
