"""An attention scheme without training: loading a user's own, its contract, sight, reach and cost."""
