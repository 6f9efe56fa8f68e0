"""Files of runs: folder, record, status, lock, predictions, pack, and the identity of a run."""
