"""One static page of everything that was measured: tables, statistics, curves, confusions. Imports no torch."""
