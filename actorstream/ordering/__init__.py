"""The decisions of orders: which waiting frame of an actor's inputs comes next, and which rows may be sent. One file for each."""
