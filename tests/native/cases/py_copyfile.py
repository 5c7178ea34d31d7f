import shutil

shutil.copyfile("in", "out")
