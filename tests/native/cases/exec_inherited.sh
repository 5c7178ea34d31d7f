/bin/echo hello world > out
