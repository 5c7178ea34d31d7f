with open("out", "w") as out:
    out.write("hello world\n")
with open("out") as back:
    assert back.read() == "hello world\n"
