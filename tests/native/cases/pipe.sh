cat in | sort -r > out
