"""Answers to text, graphs and pictures: terminal, DOT, Mermaid, SVG.

One module per answer, each turns a dataclass of ``provio.query`` into lines or
a document and decides nothing about the facts. ``text`` has the units, tables
and colours they share.
"""
