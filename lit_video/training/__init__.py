"""One run of one row: training, test, result."""
