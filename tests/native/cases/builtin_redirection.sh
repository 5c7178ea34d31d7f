echo hello world > out; printf "%s\n" again >> out
