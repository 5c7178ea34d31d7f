tar cf out in
