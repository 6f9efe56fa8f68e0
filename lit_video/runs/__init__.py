"""Files of a run: folder, pack, record, result, status, lock, checkpoint, predictions; its identity, its history."""
