import os

with open("in", "rb") as source, open("out", "wb") as target:
    assert os.sendfile(target.fileno(), source.fileno(), 0, 10000) == 10000
