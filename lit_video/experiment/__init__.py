"""An experiment as it is asked for: rows and seeds, their settings, resolved once, and the identity of each run."""
