"""What serial order needs in a worker: numbers, who gives and keeps them, units that put rows back in their order."""
