"""What a network looks at, as tensors: attention rollout, and what the heads of mixing attention read.

Nothing here knows of Lightning, of files or of pictures.
"""
