"""A folder of the user's own videos: what is in it, how it is divided, and the experiment that suits it."""
