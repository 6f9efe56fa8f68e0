"""What a run records and shows beside its training."""
