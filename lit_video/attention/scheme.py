"""Token grid, base class and multi-head projections that all attention schemes share."""

from typing import ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook


class Grid(NamedTuple):
    """Token grid of a clip: frames, patch rows, patch columns."""

    t: int
    h: int
    w: int


class Scheme(nn.Module):
    """Base of all attention schemes, built with ``(dim, num_heads)`` or ``(dim, num_heads, layer)``.

    Layers count from 0.

    Attributes:
        class_tokens: layout of the class tokens: one per ``clip``, one per ``frame``, or ``none``.
        causal: whether the scheme claims that no token sees a later frame.
        num_prefix_tokens: number of class and register tokens before the patches; 0 if the scheme takes no registers.
        fresh: names of parts that an image model does not start, though it has a counterpart.
    """

    class_tokens: ClassVar[Literal["clip", "frame", "none"]] = "clip"
    causal: bool = False
    num_prefix_tokens: int = 0
    fresh: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def check(cls, grid: Grid) -> None:  # most schemes take any grid
        """Refuse a grid that the scheme cannot serve."""

    def drop_branches(self, drop: nn.Module) -> bool:
        """Take over stochastic depth: apply ``drop`` to parts of the branch, and return True.

        By default this returns False, and the block drops a clip's whole branch.
        """
        return False

    def forward(self, x: Tensor, grid: Grid) -> Tensor:
        """Map tokens ``(b, n, d)`` on ``grid`` to tokens ``(b, n, d)``, residual included."""
        raise NotImplementedError


class ZeroLinear(nn.Linear):
    """Linear layer that starts at zero, so that a branch ending in it adds nothing before training."""

    def reset_parameters(self) -> None:
        """Zero weight and bias."""
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)


def has_hooks(layer: nn.Module) -> bool:
    """Return whether a call of the layer does more than its ``forward``, because hooks are registered."""
    hooks = layer._forward_pre_hooks or layer._forward_hooks or layer._backward_pre_hooks or layer._backward_hooks
    return bool(hooks) or _has_any_global_hook()  # type: ignore[no-untyped-call]


def is_plain(layer: nn.Module) -> bool:
    """Return whether a layer computes W x + b from two ordinary tensors, without hooks.

    Adapters, quantisation, parametrisations, pruning and sharding change the class, add hooks or replace the tensors.
    """
    if type(layer) not in (nn.Linear, ZeroLinear) or "forward" in vars(layer) or has_hooks(layer):
        return False
    return all(type(value) in (nn.Parameter, Tensor) for value in (layer.weight, layer.bias))


class Attention(nn.Module):
    """Pre-norm multi-head attention, with timm's parameter names (``norm``, ``qkv``, ``proj``).

    Args:
        dim: channels ``d`` of a token; a multiple of ``num_heads``.
        num_heads: number of heads ``a``.
        qkv_bias: whether the projection to query, key and value has a bias.
        eps: epsilon of the layer norm.
        qkv: class of the projection to query, key and value.
        proj: class of the output projection.

    Raises:
        ValueError: the width is no multiple of the heads.
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        qkv_bias: bool = True,
        *,
        eps: float = 1e-6,
        qkv: type[nn.Linear] = nn.Linear,
        proj: type[nn.Linear] = nn.Linear,
    ) -> None:
        super().__init__()
        if dim % num_heads:
            raise ValueError(f"dim {dim} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.norm = nn.LayerNorm(dim, eps=eps)
        self.qkv = qkv(dim, 3 * dim, bias=qkv_bias)
        self.proj = proj(dim, dim)
        self.drop: nn.Module = nn.Identity()  # stochastic depth; in training it drops the branch of whole groups

    def project(self, x: Tensor) -> Tensor:
        """Project normalised tokens ``(..., d)`` to query, key and value ``(..., 3, a, c)``."""
        return rearrange(self.qkv(x), "... (qkv a c) -> ... qkv a c", qkv=3, a=self.num_heads)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, seen: Tensor | None = None, then: nn.Linear | None = None
    ) -> Tensor:
        """Attend from ``q (b, m, a, c)`` to ``k, v (b, j, a, c)``, merge the heads and project to ``(b, m, d)``.

        ``seen (m, j)``: True where a query sees a key, or a bias to add; ``None``: all keys.
        ``then``: a final layer, W (W_o y + b_o) + b; training with many tokens computes (W W_o) y + (W b_o + b), at
        less cost.
        """
        q, k, v = (rearrange(y, "b m a c -> b a m c") for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, seen)
        y = rearrange(y, "b a m c -> b m (a c)")
        if then is None:
            return self.proj(y)

        # the shortcut uses the weights of two layers without a call of either, so both have to be plain
        many = y.shape[0] * y.shape[1] > y.shape[2]
        if not (self.training and many and is_plain(self.proj) and is_plain(then)):
            return then(self.proj(y))
        return F.linear(y, then.weight @ self.proj.weight, F.linear(self.proj.bias, then.weight, then.bias))

    def forward(self, x: Tensor, then: nn.Linear | None = None) -> Tensor:
        """Return the self-attention branch without residual, ``(b, m, d)``; ``then`` is a final layer."""
        q, k, v = self.project(self.norm(x)).unbind(-3)
        return self.attend(q, k, v, then=then)

    def over(self, x: Tensor, groups: str, then: nn.Linear | None = None, **axes: int) -> Tensor:
        """Attend within each group of tokens alone: ``(b, n, d) -> (b, n, d)``.

        ``groups`` is an einops pattern such as ``"b (t s) d -> (b s) t d"``; its inverse needs the sizes ``axes``.
        Stochastic depth is applied before ``then``, a layer after the branch.
        """
        before, after = groups.split("->")
        inverse = f"{after} -> {before}"
        grouped = rearrange(x, groups, **axes)

        drops = not isinstance(self.drop, nn.Identity)
        if then is not None and drops:
            branch = self.drop(self(grouped))
            return then(rearrange(branch, inverse, **axes))

        # nothing comes between the branch and ``then``, so :meth:`attend` may merge it with the output projection
        branch = self.drop(self(grouped, then))
        return rearrange(branch, inverse, **axes)

    def over_with_cls(self, cls: Tensor, x: Tensor, groups: str, **axes: int) -> tuple[Tensor, Tensor]:
        """Attend within groups of patches; each group gets a copy of the r class and register tokens ``(b, r, d)``.

        Return the branch of the copied tokens, averaged over groups, and the branch of the patches.
        """
        before, after = groups.split("->")
        grouped = rearrange(x, groups, **axes)
        num_groups = x.shape[1] // grouped.shape[1]
        copies = repeat(cls, "b r d -> (b g) r d", g=num_groups)

        branch = self.drop(self(torch.cat((copies, grouped), dim=1)))

        copied_branch, patch_branch = split_cls(branch, cls.shape[1])
        cls_branch = rearrange(copied_branch, "(b g) r d -> b g r d", g=num_groups).mean(1)
        return cls_branch, rearrange(patch_branch, f"{after} -> {before}", **axes)


def split_cls(x: Tensor, num_prefix_tokens: int = 1) -> tuple[Tensor, Tensor]:
    """Split ``(b, p + n, d)`` into the clip's p class and register tokens ``(b, p, d)`` and its patches."""
    sizes = [num_prefix_tokens, x.shape[1] - num_prefix_tokens]
    cls, patches = torch.split(x, sizes, dim=1)  # its backward pass concatenates; slices would pad with zeros twice
    return cls, patches
