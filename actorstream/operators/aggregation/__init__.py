"""What `aggregate` is made of: which accumulators its aggregates need, the rows that go in, the windows that come out.
The cells themselves are kept in C (native/panes.py, native/sessions.py)."""
