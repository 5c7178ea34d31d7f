"""Lineage as tree, DOT, Mermaid and picture."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from provio.query.lineage import LineageAnswer, lineage
from provio.query.paths import resolve
from provio.report.lineage import dot, mermaid, tree_lines
from provio.report.svg import svg
from provio.report.text import Style
from support.answers import CWD, Story, seismic

BASE = CWD.encode()
SVG = "{http://www.w3.org/2000/svg}"


def ask(file: str, story: Story | None = None, **options: object) -> LineageAnswer:
    source = (story or seismic()).sqlite()
    return lineage(source, resolve(source, file, CWD), **options)  # type: ignore[arg-type]


def text(answer: LineageAnswer) -> str:
    return "\n".join(tree_lines(answer, Style(width=120), BASE))


def test_tree_has_the_file_its_task_and_the_inputs_below_each_other() -> None:
    lines = tree_lines(ask("stack.h5"), Style(width=120), BASE)
    assert lines[0] == "stack.h5 was made from:"
    assert lines[1].startswith("stack.h5  (5.86 KiB)")
    assert lines[2].startswith("└─ stack (try 2)  (succeeded")
    assert lines[3] == "   ├─ work/a.h5  (2.93 KiB, 1000 B read)  …"
    assert lines[4] == "   └─ work/b.h5  (3.91 KiB, 900 B read)  …"


def test_tree_says_how_to_see_more() -> None:
    assert "2 files marked … have more behind them: --depth 2" in text(ask("stack.h5"))
    assert "1 derivation possible but not proved (--possible" in text(ask("fig.png"))


def test_tree_says_both_coverage_numbers() -> None:
    assert "attributed 95.0 %" in text(ask("fig.png"))
    assert "seen 99.9 %" in text(ask("fig.png"))


def test_tree_shows_what_is_shared_only_once() -> None:
    story = seismic()
    story.derive(7, 3, 10)
    shown = text(ask("fig.png", story, depth=0))
    assert shown.count("convert:sample=a") == 1
    assert shown.count("(shown above)") == 1


def test_origin_is_never_a_blank() -> None:
    assert "it was there before this run, or something unseen wrote it" in text(ask("raw/a.dat"))
    assert "nobody was seen to read it" in text(ask("deep/er/a.h5", direction="down"))


def test_possible_derivations_are_marked_in_every_form() -> None:
    answer = ask("fig.png", possible=True)
    assert "possible" in text(answer)
    assert "style=dashed" in dot(answer)
    assert 'class="edge used way possible' in svg(answer)


def test_loops_end_in_the_tree_and_in_the_picture() -> None:
    story = seismic()
    story.add("derivations", output=0, input=7, confidence="proved", bytes=1)
    answer = ask("fig.png", story, depth=0)
    assert "(shown above)" in text(answer)
    ET.fromstring(svg(answer))


def test_picture_is_well_formed_and_needs_nothing_else() -> None:
    picture = svg(ask("fig.png", depth=0, possible=True), BASE)
    root = ET.fromstring(picture)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|<script|@import|url\((?!#)", picture)
    assert len(root.findall(f"{SVG}g[@class]")) == 12 + 11, "nodes and drawn edges"
    assert "prefers-color-scheme: dark" in picture


def test_every_node_and_edge_of_the_picture_has_a_title() -> None:
    root = ET.fromstring(svg(ask("fig.png", depth=0), BASE))
    groups = root.findall(f"{SVG}g")
    assert groups
    assert all((group.findtext(f"{SVG}title") or "").strip() for group in groups)


def test_boxes_of_the_picture_do_not_overlap() -> None:
    root = ET.fromstring(svg(ask("fig.png", depth=0, possible=True), BASE))
    boxes = [rect.attrib for rect in root.iter(f"{SVG}rect") if "rx" in rect.attrib]
    spans = [(float(b["x"]), float(b["y"]), float(b["width"]), float(b["height"])) for b in boxes]
    for index, (x, y, w, h) in enumerate(spans):
        assert not any(
            x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h for x2, y2, w2, h2 in spans[index + 1 :]
        )


def test_way_to_the_asked_file_is_highlighted_and_a_dead_end_is_not() -> None:
    story = seismic()
    story.task(9, "check", "check:")
    story.process(30, story.attempt("C1", 9, 26, 27), ["cmp", "raw/a.dat"])
    story.access(30, 0, "read", 0, 700)
    classes = re.findall(
        r'<g class="(node[^"]*)"><title>([^<]*)', svg(ask("raw/a.dat", story, direction="down", depth=0))
    )
    assert [name for name, _ in classes if "asked" in name] == ["node file asked way"]
    failed = [name for name, title in classes if title.startswith("stack, try 1: failed")]
    assert failed == ["node task way failed"]


@pytest.mark.parametrize("name", ["a<b>&\"c'.txt", "nl\nx.txt", "ü.txt", "x" * 4000])
def test_strange_names_break_no_form(name: str) -> None:
    story = seismic()
    story.file(50, name)
    story.version(50, 50, 14, 26)
    story.derive(50, 6, 5)
    answer = ask(name, story)
    ET.fromstring(svg(answer, BASE))
    assert "\n" not in mermaid(answer, BASE).split('n0["', 1)[1].split('"]', 1)[0]
    assert all("\n" not in line for line in tree_lines(answer, Style(), BASE))
    _parse_dot(dot(answer, BASE))


def _parse_dot(source: str) -> None:
    """Check quotes by hand, and with Graphviz itself where it is installed."""
    assert re.sub(r'"(?:[^"\\]|\\.)*"', "", source).count('"') == 0
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tplain"], input=source.encode(), check=True, capture_output=True)


def test_mermaid_names_nodes_by_short_ids_and_marks_the_asked_file() -> None:
    lines = mermaid(ask("fig.png"), BASE).splitlines()
    assert lines[0] == "flowchart LR"
    assert lines[-1] == "  style n0 stroke-width:3px"
    assert '  n0["fig.png"]' in lines


GOLDEN = Path(__file__).parents[2] / "golden" / "answers"


@pytest.mark.parametrize("form", ["tree", "dot", "mermaid", "svg"])
def test_lineage_of_the_story_is_the_reviewed_one(form: str) -> None:
    answer = ask("fig.png", depth=0)
    forms = {
        "tree": text,
        "dot": lambda a: dot(a, BASE),
        "mermaid": lambda a: mermaid(a, BASE),
        "svg": lambda a: svg(a, BASE),
    }
    assert forms[form](answer).rstrip("\n") == (GOLDEN / f"lineage.{form}").read_text().rstrip("\n")
