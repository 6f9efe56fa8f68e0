"""Trained models on a user's own videos."""
