"""Trained models on videos: prediction, attention maps, export."""
