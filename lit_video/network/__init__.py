"""Video transformers in pure PyTorch: embed -> blocks -> aggregate."""
