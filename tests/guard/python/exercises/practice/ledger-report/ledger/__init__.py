"""Totals the entries of a ledger."""
