"""Models after training, used on a user's own videos."""
