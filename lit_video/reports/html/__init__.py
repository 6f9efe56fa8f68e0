"""One static page of all measurements: tables, statistics, curves, confusions."""
