"""Make the inputs: always the same bytes."""

import random
from pathlib import Path


def main(directory: Path) -> None:
    chance = random.Random(20)  # noqa: S311 - nothing secret
    folder = directory / "in"
    folder.mkdir(exist_ok=True)
    words = ("".join(chance.choices("abcdefgh", k=chance.randint(3, 9))) for _ in range(400))
    (folder / "words.txt").write_text("\n".join(words) + "\n")
    (folder / "numbers.txt").write_text("".join(f"{chance.randrange(1000)}\n" for _ in range(300)))
    (folder / "blob.bin").write_bytes(chance.randbytes(150_000))


if __name__ == "__main__":
    main(Path())
