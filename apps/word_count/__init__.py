"""Word count: how often each word of a text occurs."""
