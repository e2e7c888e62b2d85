"""Card fraud: transactions that a Markov model of a customer's behaviour finds unlikely (briskstream-rlas, FD)."""
