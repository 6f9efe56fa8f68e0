"""Many runs: which are left, on which devices or as which jobs they run, how far they are."""
