"""The machine looked at: what works for training here, what does not, what to do. Imports no torch."""
