"""Applications on actorstream: one folder each, the public API only, none knows another."""
