"""What ``data check``, ``stats`` and ``prepare`` do."""
