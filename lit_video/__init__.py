"""lit_video: train, compare and reproduce video transformers in PyTorch Lightning."""

__version__ = "0.1.0"
