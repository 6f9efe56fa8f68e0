"""Pretrain small X-ViTs on drawn videos, by the trials of ``trials.yaml``, and choose among them by transfer.

``train NAME --folder DIR --minutes 20`` trains a trial in legs: the same command goes on from ``DIR/NAME/last.ckpt``,
to the bit. ``transfer NAME ... --folder DIR --videos DATA`` classifies real videos by logistic regression on the frozen
features. It uses training videos alone: of UTD-MHAD the training persons, each left out in turn; of room_actions the
recordings of the first two days, each left out in turn; of AVLetters repetition 2 after training on repetition 1.
Beside the trials: a network with random weights, and the pixels of small frames.
"""
