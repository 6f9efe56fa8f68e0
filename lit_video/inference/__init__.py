"""Trained models on videos of one's own."""
