"""TrainedModel models on a user's own videos."""
