cat in | tee out > second
