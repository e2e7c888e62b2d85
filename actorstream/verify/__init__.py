"""Whether a topology gives the same output under many deployments. Pure: `deployments`, `sinks`, `comparison`, `hints`."""
