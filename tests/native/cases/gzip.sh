gzip -n < in > out
