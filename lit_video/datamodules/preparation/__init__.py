"""Videos in forms that are faster to train from: files of H.264, shards of pictures."""
