"""Tables of the papers, and what runs measured."""
