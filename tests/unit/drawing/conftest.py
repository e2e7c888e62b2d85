"""The word count of the tests of `topology`, which is drawn here."""

from tests.unit.topology.conftest import TYPES, deploy, graph, read, registry

__all__ = ["TYPES", "deploy", "graph", "read", "registry"]
