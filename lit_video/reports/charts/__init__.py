"""The figures of tests and tables as Vega-Lite: data in, chart out; for the page, a run's folder and W&B alike."""
