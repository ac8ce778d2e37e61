"""The vocabulary that every part shares: names, messages, wire formats. Pure: bytes and values only."""
