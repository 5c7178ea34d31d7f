"""What every reader of a tracer's files must keep to. The promises are the names of the tests."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pytest

from provio.model.wire import RecordType
from provio.tracers.base import Origin
from provio.tracers.records import read_records

if TYPE_CHECKING:
    from pathlib import Path

    from provio.tracers.base import TracerReader
    from provio.tracers.records import Records

ORIGIN = Origin("ab" * 16, "", "b0" * 16, "node1", 1_790_000_000 * 10**9, 5 * 10**12)
"""An origin for tests: any run, boot and moment."""


class TracerContract(ABC):
    """Contract of a ``TracerReader`` with ``to_wire``."""

    @abstractmethod
    def reader(self) -> TracerReader:
        """Return the reader under test."""

    @abstractmethod
    def sample(self) -> bytes:
        """Return a file that your tracer wrote: at least one process that read and one that wrote a file."""

    def foreign(self) -> bytes:
        """Return bytes that are no file of your tracer."""
        return b"\x7fELF not yours\n" * 10

    def test_suffix_is_one_word(self) -> None:
        """A suffix is a file name's end and a key in reports."""
        assert re.fullmatch(r"[a-z][a-z0-9_-]*", self.reader().suffix)

    def test_availability_is_told_without_raising(self) -> None:
        """``provio doctor`` asks on any machine."""
        state = self.reader().availability()
        assert state.available or state.reason

    def test_wire_form_is_read_without_damage(self, tmp_path: Path) -> None:
        """The decoder of the core accepts every byte."""
        assert not self._decoded(self.sample(), tmp_path).damage

    def test_processes_and_their_files_are_in_the_wire_form(self, tmp_path: Path) -> None:
        """There is somebody who did something."""
        rows = self._decoded(self.sample(), tmp_path).rows
        assert len(rows[RecordType.IMAGE]) > 0
        handles = rows[RecordType.HANDLE]
        assert handles["read"]["bytes"].sum() > 0
        assert handles["write"]["bytes"].sum() > 0

    def test_every_file_belongs_to_a_process_of_the_same_file(self, tmp_path: Path) -> None:
        """References lead somewhere."""
        records = self._decoded(self.sample(), tmp_path)
        images = set(records.addr[RecordType.IMAGE].tolist())
        assert set(records.refs(RecordType.HANDLE, "image").tolist()) <= images

    def test_same_bytes_give_the_same_wire_form(self) -> None:
        """Sealing again gives the same answers."""
        assert self._wire(self.sample()) == self._wire(self.sample())

    def test_run_boot_and_host_are_the_ones_given(self, tmp_path: Path) -> None:
        """Records are tied to the run in whose spool they lie."""
        header = self._decoded(self.sample(), tmp_path).files[0].header
        assert (header.run, header.boot) == (ORIGIN.run, ORIGIN.boot)
        assert header.host == ORIGIN.host

    def test_foreign_file_is_refused(self) -> None:
        """With ValueError, which becomes a gap; anything else disables the plugin."""
        with pytest.raises(ValueError, match=r"."):
            self._wire(self.foreign())

    def test_file_cut_anywhere_is_refused_or_read_up_to_there(self, tmp_path: Path) -> None:
        """A tracer can be killed while it writes."""
        sample = self.sample()
        for end in range(0, len(sample), max(1, len(sample) // 50)):
            try:
                wire = self._wire(sample[:end])
            except ValueError:
                continue
            path = tmp_path / f"{end}.{self.reader().suffix}"
            path.write_bytes(wire)
            assert not read_records([path]).damage, f"cut after {end} bytes"

    def _wire(self, data: bytes) -> bytes:
        convert = self.reader().to_wire
        assert convert is not None, "a reader whose files are wire format already needs no contract"
        return convert(data, ORIGIN)

    def _decoded(self, data: bytes, folder: Path) -> Records:
        path = folder / f"sample.{self.reader().suffix}"
        path.write_bytes(self._wire(data))
        return read_records([path])
