"""Event time: watermarks, windows and lateness as pure decisions. No clock, no I/O, no state of operators."""
