"""What all transports over a network share: messages, links to peers, and the two ends of a channel."""
