"""Any frozen video model on the temporal skills: its clips, features, videos and probes."""
