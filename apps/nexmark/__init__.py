"""NEXMark: persons, auctions and bids of an online auction, and the queries by which stream processors are compared."""
