"""Memory of a device in training, of one process and of several. Imports no torch.

SGD with momentum, as the papers' recipes train: a float32 each for weight, gradient and momentum. What is sharded
follows ZeRO-3 (Rajbhandari et al., arXiv:1910.02054, section 5). Peaks are those of :mod:`lit_video.costs.peak`.
"""

from dataclasses import dataclass

from lit_video.costs.scaling import WORD

# of a device that a predicted peak may fill: the CUDA context, rounding and the prediction's error have the rest
SHARE = 0.9


@dataclass(frozen=True)
class Footprint:
    """What a model takes, in bytes where no other unit is named.

    Args:
        parameters: of the network.
        block: parameters of its largest block.
        kept: bytes at the peak whatever the batch, beside three words of each parameter: copies of the weights in the
            lower precision.
        clip: bytes at the peak, per clip.
        checkpointed: the same under activation checkpointing of blocks.
    """

    parameters: int
    block: int
    kept: int
    clip: int
    checkpointed: int

    def ddp(self) -> int:
        """Bytes without activations: weight, gradient, DDP's bucket and momentum, and the copies."""
        return 4 * WORD * self.parameters + self.kept

    def fsdp(self, devices: int) -> int:
        """The same sharded, and two blocks gathered with their gradients: one computes, one is fetched ahead.

        The copies are not sharded: autograd holds them from the forward to the backward pass.
        """
        return 3 * WORD * self.parameters // devices + 2 * 2 * WORD * self.block + self.kept

    def clips(self, states: int, memory: float, checkpointing: bool = False) -> int:
        """Clips that fit beside the states; 0 if not even one."""
        return max(int((memory - states) // (self.checkpointed if checkpointing else self.clip)), 0)
