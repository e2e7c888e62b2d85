"""What the joins share: keys of two inputs, their output fields, and rows of two batches side by side."""
