"""Timestamp order in a worker (viper-scalegate): stamps and sources that send in order, and inboxes that merge."""
