"""The decisions of orders: which waiting frame of an actor's inputs comes next. One file for each."""
