"""Benchmarks: suites, one harness that runs them and their peers alternately, and the records they give.

Not part of the installed package; everything under measurement is used through its public API.
"""
