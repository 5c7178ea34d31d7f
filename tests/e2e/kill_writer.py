"""Write 64-byte records for ever or LIMIT times, and count each one after it is complete.

Usage: kill_writer.py OUTPUT COUNTER [LIMIT]. COUNTER is shared memory: pid, then
completed writes, two little-endian 64-bit numbers. It is the truth of the kill
tests: what was counted had returned to the program before it was killed.
"""

import mmap
import os
import struct
import sys

RECORD = b"x" * 63 + b"\n"


def main(output: str, counter: str, limit: int = 10_000_000) -> None:
    shared = os.open(counter, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(shared, 16)
    with mmap.mmap(shared, 16) as truth:
        os.close(shared)
        struct.pack_into("<q", truth, 0, os.getpid())
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        for done in range(1, limit + 1):
            os.write(target, RECORD)
            struct.pack_into("<q", truth, 8, done)
        os.close(target)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
