import multiprocessing


def write(name):
    with open(name, "w") as out:
        out.write("hello world\n")


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.map(write, ["out", "second"])
