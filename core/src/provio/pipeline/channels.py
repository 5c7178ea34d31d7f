"""Uses of pipes, FIFOs and socket pairs, joined into channels.

A pipe or FIFO is one channel per boot, device and inode. A socket pair is two,
one per direction: what end A writes, end B reads. A socket whose other end is
not known gives one channel per direction that no other end shares, so that
nothing is derived through it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from provio.model.evidence import ChannelUse
from provio.model.wire import Kind, Op, RecordType
from provio.pipeline.touches import Owners, signed

if TYPE_CHECKING:
    from provio.tracers.records import Ints, Records

_NAMES: Final = {int(Kind.PIPE): "pipe", int(Kind.FIFO): "fifo", int(Kind.SOCKET): "socket"}


def build_channels(records: Records, owner: Owners, boots: Ints) -> tuple[list[ChannelUse], dict[int, int]]:
    """Return the uses of channels, and per image the bytes that it moved through them."""
    rows, addr = records.rows[RecordType.HANDLE], records.addr[RecordType.HANDLE]
    at = np.flatnonzero(np.isin(rows["op"], tuple(_NAMES)) & (owner.epoch >= 0))
    if not len(at):
        return [], {}
    boot = boots[records.file_of(addr[at])]
    peers = _peers(records, boots)
    names: dict[tuple[int, ...], int] = {}
    uses: list[ChannelUse] = []
    moved: dict[int, int] = {}
    kinds, inodes, devices = (
        rows["op"][at].tolist(),
        signed(rows["ino"][at]).tolist(),
        signed(rows["dev"][at]).tolist(),
    )
    for n, row in enumerate(at.tolist()):
        image = int(owner.image[row])
        for writes, side in ((False, rows["read"][row]), (True, rows["write"][row])):
            if not side["count"] and not side["bytes"]:
                continue
            key = _key(kinds[n], int(boot[n]), devices[n], inodes[n], writes=writes, peers=peers)
            number = names.setdefault(key, len(names))
            first, last, size = int(side["first"]), int(side["last"]), int(side["bytes"])
            uses.append(
                ChannelUse(number, _NAMES[kinds[n]], int(owner.epoch[row]), writes, first, last, size)
            )
            moved[image] = moved.get(image, 0) + size
    return uses, moved


def _key(
    kind: int, boot: int, dev: int, ino: int, *, writes: bool, peers: dict[tuple[int, int], int]
) -> tuple[int, ...]:
    """Return what two uses of one channel have in common."""
    if kind != Kind.SOCKET:
        return (boot, dev, ino)
    peer = peers.get((boot, ino), 0)
    return (boot, dev, ino, peer, 1) if writes else (boot, dev, peer, ino, 1 if peer else 0)


def _peers(records: Records, boots: Ints) -> dict[tuple[int, int], int]:
    """Return the other end's inode of each end of a socket pair."""
    rows, addr = records.rows[RecordType.OP], records.addr[RecordType.OP]
    at = np.flatnonzero((rows["op"] == Op.SOCKETPAIR) & (rows["err"] == 0))
    boot = boots[records.file_of(addr[at])].tolist() if len(at) else []
    ends = zip(boot, signed(rows["ino"][at]).tolist(), signed(rows["ino2"][at]).tolist(), strict=True)
    peers: dict[tuple[int, int], int] = {}
    for where, one, two in ends:
        peers[where, one], peers[where, two] = two, one
    return peers
