"""What releases cost, and the ledger that remembers it."""
