"""The graph as data: read, checked, drawn and planned. Knows actors by a protocol only, and runs nothing."""
