"""Tables of the papers, measured rows beside them, claims and statistics."""
