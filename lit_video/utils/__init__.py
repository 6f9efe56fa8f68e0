"""Used by two packages or more; imports errors only."""
