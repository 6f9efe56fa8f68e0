"""Many runs: unfinished ones, their devices or Slurm jobs, their progress."""
