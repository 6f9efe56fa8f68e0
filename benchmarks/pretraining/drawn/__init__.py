"""Drawn videos to pretrain on: motions, actors, textures and their drawing."""
