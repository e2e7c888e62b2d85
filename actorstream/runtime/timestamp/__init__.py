"""Timestamp order in a worker (viper-scalegate): stamps of senders, and inboxes that merge."""
