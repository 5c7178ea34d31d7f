import mmap

with open("in", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
    assert len(view[:]) == 10000
