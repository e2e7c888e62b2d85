"""Drawings of topologies, graphs and plans: text, Mermaid, JSON and SVG. Nothing that runs depends on them."""
