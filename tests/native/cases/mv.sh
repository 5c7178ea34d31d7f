cp in first; mv first out
