"""Tolerance of float32 results on any machine; tests in float64 show equality."""

import torch


def assert_close_in_float32(actual, expected, network):
    """Check that values differ by rounding only, in any order in which a machine adds.

    Instruction sets and numbers of threads add in different orders. Rounding errors of a sum of ``n`` products have
    either sign, so they grow as the root of ``n``: a layer adds about ``eps * sqrt(n)`` of the size of its values, and
    at worst the errors of all layers add up. Layers are the network's weights; the longest sum is in the widest one.
    """
    sums = [parameter[0].numel() for parameter in network.parameters() if parameter.ndim > 1]
    share = torch.finfo(torch.float32).eps * max(sums) ** 0.5 * len(sums)
    torch.testing.assert_close(actual, expected, atol=share * expected.abs().max().item(), rtol=0)
