"""Files to clips: decoding, sampling, augmentation. Imports no Lightning."""
