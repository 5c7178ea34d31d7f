"""Let children do the work: redirected, through a pipe, and forked."""

import os
import subprocess
import sys

source, target = sys.argv[1:]
with open(source) as given, open(target, "w") as taken:
    subprocess.run(["/usr/bin/tr", "a", "x"], stdin=given, stdout=taken, check=True)
counted = subprocess.run(["/usr/bin/wc", "-l", source], env={}, capture_output=True, check=True).stdout
child = os.fork()
if child == 0:
    with open(target, "ab") as taken:
        taken.write(counted)
    os._exit(0)
os.waitpid(child, 0)
