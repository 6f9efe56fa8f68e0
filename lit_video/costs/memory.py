"""Memory of a device in training: weights, gradients, optimizer, activations. Imports no torch.

SGD with momentum, as the papers' recipes train: a float32 each for weight, gradient and momentum. What is sharded
follows ZeRO-3 (Rajbhandari et al., arXiv:1910.02054, section 5).
"""

from dataclasses import dataclass

from lit_video.costs.scaling import WORD


@dataclass(frozen=True)
class Footprint:
    """What a model takes, in bytes where no other unit is named.

    Args:
        parameters: of the network.
        block: parameters of its largest block.
        blocks: how many.
        kept: bytes that the forward pass keeps whatever the batch: copies of the weights in the lower precision.
        clip: bytes that it keeps for the backward pass, per clip.
        inputs: the blocks' inputs alone, per clip: what activation checkpointing keeps.
    """

    parameters: int
    block: int
    blocks: int
    kept: int
    clip: int
    inputs: int

    def ddp(self) -> int:
        """Bytes without activations: weight, gradient, DDP's bucket and momentum, and the copies."""
        return 4 * WORD * self.parameters + self.kept

    def fsdp(self, devices: int) -> int:
        """The same sharded, and two blocks gathered with their gradients: one computes, one is fetched ahead.

        The copies are not sharded: autograd holds them from the forward to the backward pass.
        """
        return 3 * WORD * self.parameters // devices + 2 * 2 * WORD * self.block + self.kept

    def checkpointed(self) -> int:
        """Bytes per clip under activation checkpointing: the blocks' inputs, and one block computed again."""
        return self.inputs + self.clip // self.blocks

    def clips(self, states: int, memory: float, checkpointing: bool = False) -> int:
        """Clips that fit beside the states; 0 if not even one."""
        return max(int((memory - states) // (self.checkpointed() if checkpointing else self.clip)), 0)
