"""The contents that a file had, and which of them each access met."""

from __future__ import annotations

from provio.model.events import EngineFile
from provio.model.gaps import GapKind
from support.scenes import ADOPTED, APPEND, INHERITED, TRUNCATED, Scene, stamp


def _story(scene: Scene) -> list[tuple[int, int, str]]:
    """Return (ordinal, writer, ended) of every version."""
    return [(v.ordinal, v.writer, v.ended) for v in scene.facts().versions]


def _met(scene: Scene, *touches: int) -> list[int]:
    facts = scene.facts()
    ordinal = {v.version: v.ordinal for v in facts.versions}
    met = {a.touch: ordinal[a.version] for a in facts.accesses if a.version >= 0}
    return [met.get(t, -1) for t in touches]


def test_file_that_is_only_read_has_one_external_version() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.read(epoch, "/a", 10)
    scene.read(epoch, "/a", 20)
    assert _story(scene) == [(0, -1, "")]


def test_created_file_has_only_the_version_of_its_writer() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/b", 10, 20)
    assert _story(scene) == [(1, epoch, "")]


def test_reader_meets_the_version_that_is_current_when_it_reads() -> None:
    scene = Scene()
    one, two, reader = (scene.program() for _ in range(3))
    scene.write(one, "/b", 10, 20)
    early = scene.read(reader, "/b", 30)
    scene.write(two, "/b", 40, 50, flags=TRUNCATED)
    late = scene.read(reader, "/b", 60)
    assert _met(scene, early, late) == [1, 2]
    assert _story(scene) == [(1, one, "overwritten"), (2, two, "")]


def test_rewrite_in_place_makes_a_new_version_and_keeps_the_old_as_overwritten() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/f", 30, 40, flags=0, size_open=100)
    assert _story(scene) == [(0, -1, "overwritten"), (1, epoch, "")]


def test_truncating_an_existing_file_ends_what_was_found() -> None:
    scene = Scene()
    reader, writer = scene.program(), scene.program()
    scene.read(reader, "/f", 10)
    scene.write(writer, "/f", 30, 40, flags=TRUNCATED)
    assert _story(scene) == [(0, -1, "overwritten"), (1, writer, "")]


def test_read_after_write_in_the_same_handle_meets_its_own_version() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/f", 10, 20, opened=5, closed=50)
    read = scene.read(epoch, "/f", 30, opened=5, closed=50)
    assert _met(scene, read) == [1]


def test_read_before_the_write_of_the_same_handle_meets_the_old_content() -> None:
    scene = Scene()
    epoch = scene.program()
    read = scene.read(epoch, "/f", 10, opened=5, closed=50, size_open=9)
    scene.write(epoch, "/f", 20, 30, opened=5, closed=50, flags=0, size_open=9)
    assert _met(scene, read) == [0]


def test_descriptor_inherited_from_the_shell_that_opened_the_file_goes_on_with_its_version() -> None:
    scene = Scene()
    shell = scene.image("bash")
    top = scene.epoch(shell)
    sort = scene.program("sort", parent=shell)
    scene.touch(top, "create", "/b", 10, flags=1, closed=60)
    scene.write(sort, "/b", 20, 30, flags=ADOPTED)
    assert _story(scene) == [(1, sort, "")]


def test_several_commands_of_one_redirected_block_write_one_version() -> None:
    scene = Scene()
    shell = scene.image("bash")
    top = scene.epoch(shell)
    scene.touch(top, "create", "/b", 10, flags=1, closed=90)
    for at in (20, 40):
        scene.write(scene.program("cat", parent=shell), "/b", at, at + 5, flags=INHERITED)
    assert [v.ordinal for v in scene.facts().versions] == [1]


def test_inherited_descriptor_does_not_join_the_version_of_a_stranger() -> None:
    scene = Scene()
    shell = scene.image("bash")
    top = scene.epoch(shell)
    stranger = scene.program("other")
    child = scene.program("cat", parent=shell)
    scene.write(top, "/log", 10, 12, opened=10, closed=90)
    scene.write(stranger, "/log", 20, 25, flags=APPEND, size_open=5)
    scene.write(child, "/log", 40, 45, flags=INHERITED, opened=10)
    assert [v.writer for v in scene.facts().versions] == [top, stranger, child]


def test_rename_gives_the_version_its_new_name_and_ends_what_it_replaced() -> None:
    scene = Scene()
    epoch = scene.program("mv")
    scene.read(epoch, "/b", 5)
    scene.write(epoch, "/b.tmp", 10, 20)
    scene.touch(epoch, "rename", "/b.tmp", 30, path2=b"/b", other=scene.file("/b"))
    found = {(v.path, v.ordinal, v.ended) for v in scene.facts().versions}
    assert found == {(b"/b", 0, "replaced"), (b"/b", 1, "")}


def test_file_known_only_from_being_replaced_ends_too() -> None:
    scene = Scene()
    epoch = scene.program("mv")
    old = scene.file("/b")
    scene.write(epoch, "/b.tmp", 10, 20)
    scene.touch(epoch, "rename", "/b.tmp", 30, path2=b"/b", other=old)
    assert [v.path for v in scene.facts().versions if v.file != old] == [b"/b"]


def test_exchange_swaps_the_names_of_both_files() -> None:
    scene = Scene()
    epoch = scene.program("swap")
    scene.write(epoch, "/a", 10, 12)
    scene.write(epoch, "/b", 14, 16)
    scene.touch(epoch, "exchange", "/a", 30, path2=b"/b", other=scene.file("/b"))
    names = {v.file: v.path for v in scene.facts().versions}
    assert names == {scene.file("/a"): b"/b", scene.file("/b"): b"/a"}


def test_unlink_of_the_last_name_ends_the_version() -> None:
    scene = Scene()
    epoch = scene.program("rm")
    scene.write(epoch, "/b", 10, 20)
    scene.touch(epoch, "unlink", "/b", 30)
    assert _story(scene) == [(1, epoch, "unlinked")]


def test_unlink_of_one_of_two_names_ends_nothing() -> None:
    scene = Scene()
    epoch = scene.program("ln")
    scene.write(epoch, "/b", 10, 20)
    scene.touch(epoch, "link", "/b", 25, path2=b"/c")
    scene.touch(epoch, "unlink", "/b", 30)
    assert _story(scene) == [(1, epoch, "")]


def test_inode_that_is_used_again_after_unlink_holds_another_content() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.write(one, "/b", 10, 20)
    scene.touch(one, "unlink", "/b", 30)
    late = scene.read(two, "/b", 50)
    assert _met(scene, late) == [2]
    assert _story(scene) == [(1, one, "unlinked"), (2, -1, "")]


def test_reader_that_opened_before_the_unlink_still_meets_the_content() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/b", 10, 20)
    scene.touch(epoch, "unlink", "/b", 30)
    late = scene.read(epoch, "/b", 50, opened=25)
    assert _met(scene, late) == [1]


def test_change_that_nobody_recorded_makes_an_external_version() -> None:
    scene = Scene()
    writer, reader = scene.program(), scene.program()
    scene.write(writer, "/b", 10, 20, size_close=7, mtime_close=1000, ctime_close=1000)
    read = scene.read(reader, "/b", 50, size_open=9, mtime_open=3000, ctime_open=3000)
    assert _met(scene, read) == [2]
    assert _story(scene) == [(1, writer, "overwritten"), (2, -1, "")]


def test_reader_that_finds_size_and_mtime_of_the_writers_close_meets_that_version() -> None:
    scene = Scene()
    writer, reader = scene.program(), scene.program()
    scene.write(writer, "/b", 10, 20, size_close=7, mtime_close=1000, ctime_close=1000)
    read = scene.read(reader, "/b", 50, size_open=7, mtime_open=1000, ctime_open=2000)
    assert _met(scene, read) == [1]


def test_times_that_the_engine_set_are_no_change_of_content() -> None:
    scene = Scene()
    writer, reader = scene.program(), scene.program()
    scene.write(writer, "/b", 10, 20, size_close=7, mtime_close=1000, ctime_close=1000)
    scene.events.append(EngineFile(stamp(30), "touch", "/b"))
    read = scene.read(reader, "/b", 50, size_open=7, mtime_open=3000, ctime_open=3000)
    assert _met(scene, read) == [1]


def test_another_size_is_a_change_of_content_whatever_set_the_times() -> None:
    scene = Scene()
    writer, reader = scene.program(), scene.program()
    scene.write(writer, "/b", 10, 20, size_close=7, mtime_close=1000, ctime_close=1000)
    scene.touch(reader, "utime", "/b", 30)
    read = scene.read(reader, "/b", 50, size_open=9, mtime_open=3000, ctime_open=3000)
    assert _met(scene, read) == [2]


def test_writers_that_overlap_make_a_version_each_and_a_gap() -> None:
    scene = Scene()
    one, two = scene.program(), scene.program()
    scene.write(one, "/b", 10, 50)
    scene.write(two, "/b", 20, 40, flags=0, size_open=3)
    facts = scene.facts()
    assert [v.writer for v in facts.versions] == [one, two]
    assert [(g.kind, g.scope) for g in facts.gaps if g.scope == "file:/b"] == [
        (GapKind.CONTRADICTION, "file:/b")
    ]


def test_failed_operation_meets_no_content() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.touch(epoch, "open", "/a", 10, err=2)
    assert scene.facts().versions == ()


def test_noise_has_no_versions() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.file("/lib/libc.so", category="library")
    scene.read(epoch, "/lib/libc.so", 10)
    assert scene.facts().versions == ()


def test_engine_that_deletes_a_temporary_file_ends_its_version() -> None:
    scene = Scene()
    epoch = scene.program()
    scene.write(epoch, "/tmp.txt", 10, 20)
    scene.events.append(EngineFile(stamp(30), "delete", "/tmp.txt"))
    assert _story(scene) == [(1, epoch, "unlinked")]
