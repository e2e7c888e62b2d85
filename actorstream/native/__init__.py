"""The C core and its thin wrappers: one module per structure, no policy."""
