"""Test that a stream gives, after every frame, the network's logits for the video up to it, in constant memory."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import lit_video
from lit_video.modules import ConvNet, TimeSformer, ViViT, XViT
from lit_video.network.vit import ViTSize

FRAMES, LENGTH, SIDE = 4, 11, 16
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
OPTIONS = {
    "window_1": {},
    "window_2": dict(window=2),
    "boundary": dict(window=3, boundary=True),
    "beyond_the_clip": dict(window=6, ratio=1.0),
    "released_scope": dict(scope="full"),
    "everything_mixed": dict(mixed=("x", "query", "key", "value")),
    "some_layers": dict(layers="odd"),
    "summary_own": dict(summary="own"),
    "averaging": dict(ta_layers=0),
    "ta_2": dict(ta_layers=2),
    "ta_cross": dict(ta_attention="cross"),
    "summary_own_with_cls": dict(summary="own", summary_before_norm=True, cls_in_summary=True),
    "no_positions": dict(positions="none"),
    "exact": dict(exact=True),
    "exact_window_2": dict(exact=True, window=2, ta_layers=0),
    "exact_window_0": dict(exact=True, window=0),
    "spatial_only": dict(window=0),
    "spatial_only_not_causal": dict(window=0, causal=False),
    "one_frame": dict(num_frames=1),
}


def build(dtype=torch.float64, family=XViT, **options):
    """Build a model with random weights that give different logits for every frame."""
    torch.manual_seed(0)
    shape = dict(num_classes=5, num_frames=FRAMES, image_size=SIDE, size=ViTSize(24, 3, 2), patch_size=8)
    causal = dict(causal=True, positions="space") if family is XViT else {}
    model = family(**shape | causal | options).eval()
    for name, parameter in model.named_parameters():
        torch.nn.init.normal_(parameter, mean=float("norm" in name and name.endswith("weight")), std=0.3)
    return model.to(dtype)


def video(dtype=torch.float64, count=2, length=LENGTH, side=SIDE):
    return torch.randn(count, 3, length, side, side, generator=torch.Generator().manual_seed(1)).to(dtype)


def whole(model, clip):
    """Return logits ``(b, t, c)`` after every frame, from all frames up to it and the last frame tokens."""
    frames, network = model.hparams["num_frames"], model.network
    with torch.no_grad():
        tokens = [network.forward_features(clip[:, :, : end + 1])[:, -frames:] for end in range(clip.shape[2])]
        return torch.stack([network.aggregate(one) for one in tokens], dim=1)


def fed(stream, clip, *pieces):
    """Return the logits of a clip that is fed in pieces of these numbers of frames."""
    return torch.cat([stream(piece) for piece in clip.split(pieces or 1, dim=2)], dim=1)


def kept_bytes(stream):
    """Return the size of the state between calls."""
    kept = [*stream._tokens]
    for scheme, _ in stream._blocks:
        past = getattr(scheme, "past", [])
        kept += [x for delay in past.values() for x in delay.lines.values()] if isinstance(past, dict) else past
    return sum(x.untyped_storage().nbytes() for x in kept)


def close(a, b):
    torch.testing.assert_close(a, b, atol=TOLERANCE[a.dtype], rtol=TOLERANCE[a.dtype])


@pytest.mark.parametrize(
    ("name", "dtype"), [("everything_mixed", torch.float32), *((name, torch.float64) for name in OPTIONS)]
)
def test_every_frame_has_the_logits_of_the_whole_video_up_to_it(name, dtype):
    model, clip = build(dtype, **OPTIONS[name]), video(dtype)
    logits = fed(lit_video.stream(model), clip)
    assert logits.shape == (2, LENGTH, 5)
    close(logits, whole(model, clip))
    assert (logits[:, 1:] - logits[:, :-1]).abs().amax((0, 2)).min() > 1e-3  # every frame changes the logits


@pytest.mark.parametrize("pieces", [(11,), (3, 8), (1, 5, 1, 4), (7, 1, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("name", ["window_2", "everything_mixed", "exact_window_2", "ta_2"])
def test_frames_may_come_several_at_a_time(name, pieces):
    model, clip = build(**OPTIONS[name]), video()
    close(fed(lit_video.stream(model), clip, *pieces), whole(model, clip))


def test_streams_side_by_side_know_nothing_of_each_other():
    model, clip = build(window=2), video(count=3)
    alone = [fed(lit_video.stream(model), one) for one in clip.split(1)]
    close(fed(lit_video.stream(model), clip), torch.cat(alone))
    first, second = lit_video.stream(model), lit_video.stream(model)  # two streams through one model, taking turns
    turns = [(first(frame[:1]), second(frame[1:2])) for frame in clip.split(1, dim=2)]
    close(torch.cat([one for one, _ in turns], dim=1), alone[0])
    close(torch.cat([other for _, other in turns], dim=1), alone[1])


def test_reset_begins_new_videos_of_any_number_and_size():
    model, clip = build(), video()
    stream = lit_video.stream(model)
    fed(stream, clip)
    stream.reset()
    assert kept_bytes(stream) == 0
    close(fed(stream, clip.flip(2)), whole(model, clip.flip(2)))
    stream.reset()
    larger = video(count=1, length=6, side=32)
    close(fed(stream, larger), whole(model, larger))


@pytest.mark.parametrize("name", ["window_1", "window_2", "boundary", "exact_window_2", "ta_2", "averaging"])
def test_what_is_kept_and_computed_does_not_grow_with_the_video(name):
    model = build(**OPTIONS[name])
    stream, sizes, work = lit_video.stream(model), [], []
    for frame in video(count=1, length=5 * FRAMES).split(1, dim=2):
        with FlopCounterMode(display=False) as counter:
            stream(frame)
        sizes.append(kept_bytes(stream))
        work.append(counter.get_total_flops())
    assert len(set(sizes[FRAMES - 1 :])) == len(set(work[FRAMES - 1 :])) == 1
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.network(video(count=1, length=1))
    of_one_frame = counter.get_total_flops()
    assert work[0] == of_one_frame
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.network.aggregate(torch.zeros(1, FRAMES, 24, dtype=torch.float64))
    assert work[-1] < 2 * (of_one_frame + counter.get_total_flops())  # the exact window attends more than one frame


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        (XViT, dict(causal=False), "Mixing reads later frames; set model.causal true"),
        (XViT, dict(causal=False, exact=True), "LocalWindow reads later frames"),
        (XViT, dict(causal=False, window=0, positions="space-time"), "model.positions space"),
        (TimeSformer, dict(attention_type="space"), "an X-ViT can"),
        (ViViT, dict(variant=2, temporal="mean"), "an X-ViT can"),
    ],
)
def test_a_model_that_cannot_stream_says_why(family, options, message):
    with pytest.raises(ValueError, match=f"this model cannot stream.*{message}"):
        lit_video.stream(build(family=family, **options))


def test_a_cnn_and_a_layer_of_another_kind_cannot_stream():
    network = build().network
    network.blocks.append(torch.nn.Identity())
    for model in (network, ConvNet(3, num_frames=8, image_size=32, architecture="i3d", width=8)):
        with pytest.raises(ValueError, match="cannot stream"):
            lit_video.stream(model)


def test_frames_that_do_not_fit_are_refused_and_the_stream_goes_on():
    model, clip = build(), video()
    stream = lit_video.stream(model)
    with pytest.raises(ValueError, match="not divisible"):
        stream(video(side=20))
    first = stream(clip[:, :, :3])
    for frames, message in (
        (clip[:1, :, 3:4], "frames of 1 videos of 16 x 16 pixels follow 2 videos of 16 x 16 pixels: call re"),
        (clip[:, :, 3], r"frames are \(2, 3, 16, 16\), expected \(b, 3, t, height, width\), t at least 1"),
        (clip[:, :, :0], "t at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            stream(frames)
    model.network.aggregate.train()
    with pytest.raises(ValueError, match=r"in training mode, .* call eval\(\) first"):
        stream(clip[:, :, 3:])
    model.eval()
    close(torch.cat((first, stream(clip[:, :, 3:])), dim=1), whole(model, clip))


def test_a_call_that_breaks_off_inside_the_network_ends_the_stream(monkeypatch):
    """Break off for lack of memory: earlier layers have read the frame, and would read it twice if it came again."""
    model, clip = build(), video()
    stream = lit_video.stream(model)
    stream(clip[:, :, :3])
    with monkeypatch.context() as patch:
        patch.setattr(model.network.blocks[2].mlp, "forward", lambda x: torch.empty(2**60))
        with pytest.raises(RuntimeError, match="memory"):
            stream(clip[:, :, 3:4])
    with pytest.raises(ValueError, match=r"an earlier call broke off, .* call reset\(\)"):
        stream(clip[:, :, 3:4])
    stream.reset()
    close(fed(stream, clip), whole(model, clip))
