"""Measures what the operators of a topology cost, for plans made from a model (briskstream-rlas section 3.1)."""
