"""Make the raw data of this example: always the same bytes."""

import struct
from pathlib import Path

import numpy as np

CHANNELS = 16
RATE = 500
SECONDS = 8
MAGIC = b"DASRAW1\0"


def wave(rng: np.random.Generator) -> np.ndarray:
    """Return a plane wave that moves one channel in 10 ms, in noise, as int16."""
    signal = np.cumsum(rng.normal(size=RATE * SECONDS + 1000))
    signal -= np.convolve(signal, np.ones(101) / 101, "same")
    step = RATE // 100
    channels = [signal[500 - step * c : 500 - step * c + RATE * SECONDS] for c in range(CHANNELS)]
    noise = rng.normal(scale=0.3, size=(CHANNELS, RATE * SECONDS))
    return ((np.array(channels) + noise) * 300).clip(-32767, 32767).astype("<i2")


def main(directory: Path = Path()) -> None:
    rng = np.random.default_rng(20260421)
    (directory / "raw").mkdir(exist_ok=True)
    for minute in range(3):
        data = wave(rng)
        data[11] = rng.integers(-32767, 32767, data.shape[1], dtype="<i2", endpoint=True)  # a bad channel
        header = struct.pack("<8sIII", MAGIC, *data.shape, RATE)
        (directory / "raw" / f"{minute:04d}.das").write_bytes(header + data.tobytes())
    (directory / "bad_channels.txt").write_text("# channels with a broken sensor\n11\n")
    places = "".join(f"{c},{10.0 * c:.1f}\n" for c in range(CHANNELS))
    (directory / "stations.csv").write_text("channel,metres\n" + places)


if __name__ == "__main__":
    main()
