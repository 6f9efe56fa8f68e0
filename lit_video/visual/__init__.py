"""What a model attends to, drawn: attention rollout, what a token and a head read, features in a plane.

``routing``, ``rollout``, ``channel_sources``, ``receptive_field`` and ``projection`` are the mathematics; the rest
makes pictures of it.
"""
