"""Interpolation for tests of positions."""

import math

import torch


def cubic(source, target):
    """Return the matrix ``(target, source)`` of Keys' kernel with a = -0.75, which repeats the cells at the edge."""
    a, matrix = -0.75, torch.zeros(target, source, dtype=torch.float64)
    for i in range(target):
        centre = (i + 0.5) * source / target - 0.5
        for j in range(math.floor(centre) - 1, math.floor(centre) + 3):
            x = abs(centre - j)
            near = (a + 2) * x**3 - (a + 3) * x**2 + 1
            matrix[i, min(max(j, 0), source - 1)] += near if x <= 1 else a * (x**3 - 5 * x**2 + 8 * x - 4)
    return matrix
