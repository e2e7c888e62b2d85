"""The graph as data: read, checked and planned. Knows actors by a protocol only, and runs nothing."""
