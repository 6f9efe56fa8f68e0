"""Training, test and result of one row."""
