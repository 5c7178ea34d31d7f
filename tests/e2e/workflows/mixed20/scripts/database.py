"""Fill and ask a database."""

import sqlite3

with open(snakemake.input[0]) as source:  # noqa: F821 - given by Snakemake
    numbers = [(int(line),) for line in source]
base = sqlite3.connect(snakemake.output[1])  # noqa: F821
with base:
    base.execute("CREATE TABLE t (n INTEGER)")
    base.executemany("INSERT INTO t VALUES (?)", numbers)
with base:
    base.execute("DELETE FROM t WHERE n % 3 = 0")
(rest,) = base.execute("SELECT count(*) FROM t").fetchone()
base.close()
with open(snakemake.output[0], "w") as target:  # noqa: F821
    target.write(f"{rest}\n")
