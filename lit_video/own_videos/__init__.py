"""A folder of the user's own videos: finding them, dividing them, choosing an experiment."""
