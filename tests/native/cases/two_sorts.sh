sort in > out & sort -r in > second & wait
