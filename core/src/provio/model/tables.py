"""The tables of a generation: names, columns, meaning.

The single source of the store's Parquet schema, of ``docs/reference/tables.md`` and of what queries
may rely on. Stdlib only.

Column types: int64, int32, text, blob, bool, json (text holding JSON). Times ending in ``_ns`` are
CLOCK_REALTIME, those ending in ``_mono`` CLOCK_MONOTONIC of the host's boot. -1 or NULL: not known.
Numbers such as ``image``, ``epoch``, ``file``, ``version`` are unique within the generation.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TABLES_VERSION: Final = 1


class Column(NamedTuple):
    """One column."""

    name: str
    type: str
    meaning: str


def _columns(text: str) -> tuple[Column, ...]:
    rows = (line.split(None, 2) for line in text.strip().splitlines())
    return tuple(Column(name, kind, meaning) for name, kind, meaning in rows)


TABLES: Final[dict[str, tuple[Column, ...]]] = {
    "tasks": _columns("""
        task int64 number of the physical task
        logical text rule, process or operator
        physical text key of the instance within the run
        kind text shell, script, run, command, ...
    """),
    "attempts": _columns("""
        attempt text 32 hex digits
        task int64 its physical task
        ordinal int32 1 for the first try
        state text succeeded, failed, cancelled, lost, running
        exit_code int32 NULL if unknown
        signal int32 NULL if none
        started_ns int64 first moment
        ended_ns int64 last moment, 0 unknown
        cwd text working directory
        pid int64 process named by the engine
        start_ticks int64 its start time
        cgroup_id int64 inode of its cgroup directory, 0 unknown
        cgroup_path text below the cgroup2 mount
        host text node
        job text the engine's job id
        command text redacted command
        message text error text of the engine
        attributes json wildcards, threads, resources, ...
        parent text attempt around it
        retry_of text the try before
        processes int64 process images attributed
        files_read int64 distinct data files
        files_written int64 distinct data files
        bytes_read int64 from files
        bytes_written int64 to files
        operations int64 attributed operations
        cpu_user_ns int64 CPU time in user mode
        cpu_system_ns int64 CPU time in the kernel
        max_rss_bytes int64 largest of its processes
        io_time_ns int64 time inside traced calls, estimated
    """),
    "processes": _columns("""
        image int64 number of the process image
        parent int64 image that forked or executed it, -1 unknown
        pid int64 as in the root pid namespace where known
        ppid int64 parent process
        nspid int64 pid as the process sees it
        start_ticks int64 field 22 of /proc/pid/stat
        execs int32 how many programs this process had executed before
        forked bool memory came from the parent
        host text node
        boot text boot id
        since_mono int64 begin
        until_mono int64 end, 0 not seen
        ended text exit, exec or empty
        argv json redacted
        exe blob executable
        cwd blob working directory
        cgroup_path text control group
        user int64 uid
        rank int32 MPI rank, -1 none
        rchar int64 bytes read by the kernel's count, -1 unknown
        wchar int64 bytes written by the kernel's count, -1 unknown
        attempt text owner of its first epoch, NULL none
    """),
    "epochs": _columns("""
        epoch int64 number
        image int64 process image
        tid int64 thread, 0 all
        since_mono int64 begin
        until_mono int64 end, 0 open
    """),
    "attributions": _columns("""
        epoch int64 whose
        scope text attempt, engine or unattributed
        attempt text NULL unless scope is attempt
        method text live, cgroup, carried, ... (provio.model.facts.Method in lower case)
        confidence text proved or possible
        evidence json every piece: [method, attempt, text]
        contradictions json pieces that name another attempt
        operations int64 records in the epoch
    """),
    "files": _columns("""
        file int64 number
        path blob canonical (last) path
        paths json every name seen (base64 where not UTF-8)
        dev int64 device
        ino int64 inode, 0 absent
        fs text file-system id
        kind text file, directory, pipe, fifo, socket, device, absent, other
        category text data, or the class of noise
    """),
    "versions": _columns("""
        version int64 number
        file int64 whose content
        ordinal int32 0 as found, 1.. written in this run
        writer_epoch int64 epoch that made it, -1 external
        writer_attempt text its attempt, NULL external
        path blob name
        begun_mono int64 first write
        closed_mono int64 writer's close
        until_mono int64 overwritten, replaced or unlinked; 0 current
        closed_ns int64 writer's close in real time, 0 unknown
        size int64 bytes
        mtime int64 ns
        ctime int64 ns
        ended text overwritten, replaced, unlinked or empty
        digest text sha256:... if taken and valid
    """),
    "accesses": _columns("""
        image int64 process image
        epoch int64 epoch
        scope text attempt, engine or unattributed
        attempt text NULL unless scope is attempt
        file int64 file
        version int64 version met, -1 none
        operation text read, write, open, create, ...
        count int64 operations
        bytes int64 moved
        first_mono int64 begin of the first
        last_mono int64 end of the last
        err int32 errno, 0 success
        path blob name used
    """),
    "channels": _columns("""
        channel int64 number
        kind text pipe, fifo, socket
        epoch int64 user
        attempt text NULL unless attributed
        writes bool direction
        first_mono int64 first use
        last_mono int64 last use
        bytes int64 moved
    """),
    "derivations": _columns("""
        output int64 version
        input int64 version
        attempt text of the writer, NULL none
        confidence text proved or possible
        bytes int64 read from the input by the proof's reader
        via json steps from reader to writer
    """),
    "declared": _columns("""
        attempt text who declares
        role text input, output, log, param, ...
        name text keyword
        value text path or value
        flags json temp, protected, ...
    """),
    "gaps": _columns("""
        kind text stable word
        scope text what it concerns
        since_mono int64 0 unknown
        until_mono int64 0 open
        count int64 how many
        detail text one sentence
    """),
    "engine_files": _columns("""
        action text delete, protect, touch, clean
        path text file
        attempt text for whom, NULL unknown
        at_ns int64 when
    """),
}
