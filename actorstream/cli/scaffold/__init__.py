"""Templates of `actorstream new`; $app is filled in."""
