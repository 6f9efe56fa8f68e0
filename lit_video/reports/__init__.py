"""Results as pages: HTML, W&B, Markdown."""
