"""The kernel must move channels exactly as the plain way does, which is held against loops in test_mixing.py.

Without a GPU it runs in Triton's interpreter, on the CPU.
"""

import re
from itertools import product

import pytest
import torch
from torch.func import vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from lit_video.attention import Grid, Mixing, MixingPlan, mixing
from lit_video.attention.mixing import PARTS

pytest.importorskip("triton")

from torch._subclasses.fake_tensor import FakeTensorMode
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from triton.runtime.driver import driver
from triton.runtime.interpreter import InterpretedFunction

from lit_video.attention import mixing_kernel
from lit_video.attention.mixing_kernel import Move

PLACES = 2
PLANS = {
    "paper": MixingPlan(),
    "window_2": MixingPlan(window=2),
    "window_3_every_channel": MixingPlan(window=3, ratio=1.0),
    "fold_rounded_down": MixingPlan(ratio=0.7),
    "boundary": MixingPlan(window=3, boundary=True),
    "released": MixingPlan(scope="full"),
    "released_window_3": MixingPlan(window=3, ratio=0.75, scope="full"),
    "causal": MixingPlan(causal=True),
    "causal_window_3": MixingPlan(causal=True, window=3),
    "causal_boundary": MixingPlan(causal=True, window=2, boundary=True, scope="full"),
    "x_too": MixingPlan(mixed=("x", "key", "value")),
}
TARGETS = [("query",), ("key",), ("value",), ("query", "key"), ("query", "value"), ("query", "key", "value")]
KERNELS = ("mix_kernel", "join_kernel")


class Operators(TorchDispatchMode):
    """Names of ours that a computation calls."""

    def __init__(self):
        super().__init__()
        self.called = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "lit_video":
            self.called.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def view_of_product(x, weight, bias):
    """The linear layer of PyTorch 2.11, whose output is a view."""
    return torch.addmm(bias, x.flatten(0, -2), weight.t()).view(*x.shape[:-1], len(weight))


@pytest.fixture(params=["own", "view"])
def linear(request, monkeypatch):
    """What linear layers return."""
    if request.param == "view":
        monkeypatch.setattr(torch.nn.functional, "linear", view_of_product)


def interpret(monkeypatch):
    for name in KERNELS:
        monkeypatch.setattr(mixing_kernel, name, InterpretedFunction(getattr(mixing_kernel, name).fn))
    monkeypatch.setattr(Mixing, "in_place", staticmethod(lambda qkv, frames: True))


@pytest.fixture(params=["interpreter", "cuda"])
def device(request, monkeypatch):
    """Where the kernel runs."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("no GPU")
        return "cuda"
    interpret(monkeypatch)
    return "cpu"


def layers(plan, heads, width, device, dtype=torch.float32):
    """The same layer twice: with the kernel, and without."""
    torch.manual_seed(0)
    fast = Mixing(width, heads, plan).to(device, dtype)
    plain = Mixing(width, heads, plan).to(device, dtype)
    plain.load_state_dict(fast.state_dict())
    plain.in_place = lambda qkv, frames: False
    return fast, plain


def moved_and_gradient(layer, qkv, frames, gradients):
    leaf = qkv.clone().requires_grad_()
    with Operators() as operators:
        parts = layer.shift(PARTS, leaf * 1, frames)
        (gradient,) = torch.autograd.grad(parts, leaf, gradients)
    return [part.detach() for part in parts], gradient, operators.called


def check(plan, heads, width, frames, device, dtype, clips=2):
    fast, plain = layers(plan, heads, width, device)
    qkv = torch.randn(clips, frames * PLACES, 3 * width, device=device).to(dtype)
    gradients = [torch.randn(clips, frames * PLACES, width, device=device).to(dtype) for _ in range(3)]
    parts, gradient, called = moved_and_gradient(fast, qkv, frames, gradients)
    expected, expected_gradient, plainly = moved_and_gradient(plain, qkv, frames, gradients)
    assert called == ["mix_", "join_gradients"] and not plainly
    for part, other in zip(parts, expected, strict=True):
        assert torch.equal(part, other)
    assert torch.equal(gradient, expected_gradient)


@pytest.mark.parametrize(
    ("frames", "dtype"), [(1, torch.float32), (2, torch.float32), (5, torch.float32), (5, torch.bfloat16)], ids=str
)
@pytest.mark.parametrize("name", PLANS)
def test_moves_values_and_gradients_as_the_plain_way(name, frames, dtype, device):
    """No rounding: the numbers are equal, not close."""
    check(PLANS[name], 2, 22, frames, device, dtype)


@pytest.mark.parametrize("mixed", TARGETS, ids="_".join)
def test_whatever_is_mixed(mixed, device):
    check(MixingPlan(window=2, mixed=mixed), 2, 16, 3, device, torch.float32)


@pytest.mark.parametrize(("heads", "channels"), [(1, 7), (3, 5), (5, 16), (1, 600)])
@pytest.mark.parametrize("scope", ["per_head", "full"])
def test_any_number_of_heads_and_channels(scope, heads, channels, device):
    check(MixingPlan(scope=scope), heads, heads * channels, 3, device, torch.float32, clips=1)


@pytest.mark.parametrize(("frames", "segment", "window"), [(6, 3, 1), (6, 2, 2), (4, 4, 1)])
def test_segments(frames, segment, window, device):
    check(MixingPlan(window=window, segment=segment), 2, 16, frames, device, torch.float32)


def test_gradients_of_any_layout_and_of_one_part_alone(device):
    fast, plain = layers(MixingPlan(), 2, 12, device)
    qkv = torch.randn(2, 3 * PLACES, 36, device=device)
    packed = torch.randn(2, 3 * PLACES, 36, device=device).chunk(3, dim=-1)
    turned = [torch.randn(12, 3 * PLACES, 2, device=device).permute(2, 1, 0) for _ in range(3)]
    broadcast = [torch.randn(1, 1, 12, device=device).expand(2, 3 * PLACES, 12) for _ in range(3)]
    for gradients in (packed, turned, broadcast):
        ours, theirs = (moved_and_gradient(layer, qkv, 3, gradients)[1] for layer in (fast, plain))
        assert torch.equal(ours, theirs)
    for i in range(3):
        leaf = qkv.clone().requires_grad_()
        ours, theirs = (
            torch.autograd.grad(layer.shift(PARTS, leaf * 1, 3)[i].square().sum(), leaf) for layer in (fast, plain)
        )
        assert torch.equal(ours[0], theirs[0]) and ours[0].abs().sum() > 0


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("name", ["paper", "causal_window_3", "x_too"])
@pytest.mark.usefixtures("linear")
def test_the_layer_is_the_same(name, checkpointed, device):
    grid, plan = Grid(4, 1, 1), PLANS[name]
    x = torch.randn(2, 4 * PLACES, 24, device=device, requires_grad=True)
    results = []
    for layer in layers(plan, 2, 24, device):
        y = checkpoint(layer, x, grid, use_reentrant=False) if checkpointed else layer(x, grid)
        results.append([y, *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])])
        with torch.inference_mode():
            results[-1].append(layer(x, grid))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_operators_say_what_they_do(device):
    move = list(Move(frames=3, places=PLACES, groups=2, first=1, offsets=2, causal=0, fold=2, mixed=6))
    qkv, gradients = torch.randn(2, 3 * PLACES, 36, device=device), torch.randn(3, 2, 3 * PLACES, 12, device=device)
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(mixing_kernel.mix_, (qkv, move), test_utils=tests)
    torch.library.opcheck(mixing_kernel.join_gradients, (*gradients, move), test_utils=tests)


def fake_run(plan, dtype=torch.float32, wrap=lambda layer: layer):
    """Operators of a layer on a GPU that is not there."""
    layer = Mixing(24, 2, plan).to(dtype)
    with FakeTensorMode():
        mixing_kernel.works(torch.device("cuda:0"))  # is tried once, which is not what is looked at here
    with FakeTensorMode(allow_non_fake_inputs=True), Operators() as operators, torch.no_grad():
        y = wrap(layer.to_empty(device="cuda"))(
            torch.empty(2, 4 * PLACES, 24, device="cuda", dtype=dtype), Grid(4, 1, 1)
        )
        assert y.shape == (2, 4 * PLACES, 24) and y.device.type == "cuda"
    return operators.called


@pytest.mark.parametrize(
    ("plan", "dtype", "called"),
    [
        (MixingPlan(), torch.float32, ["mix_"]),
        (MixingPlan(), torch.bfloat16, ["mix_"]),
        (MixingPlan(summary=True, segment=2), torch.float16, ["mix_"]),
        (MixingPlan(), torch.float64, []),
        (MixingPlan(window=0), torch.float32, []),
        (MixingPlan(mixed=("x",)), torch.float32, []),
    ],
)
@pytest.mark.usefixtures("linear")
def test_a_gpu_gets_the_kernel(plan, dtype, called):
    assert fake_run(plan, dtype) == called


def test_the_plain_way_where_there_is_no_triton(monkeypatch):
    monkeypatch.setattr(mixing, "TRITON", False)
    assert fake_run(MixingPlan()) == []


def test_the_plain_way_where_triton_finds_no_compiler(monkeypatch):
    def fails(*args):
        raise RuntimeError("Failed to find C compiler.\nmore")

    mixing_kernel.works.cache_clear()
    with (
        monkeypatch.context() as patched,
        pytest.warns(UserWarning, match=r"without its kernel: Failed to find C c.*\.$"),
    ):
        patched.setattr(mixing_kernel, "mix_", fails)
        assert fake_run(MixingPlan()) == []
    mixing_kernel.works.cache_clear()


def test_a_compiler_gets_the_plain_way():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph.code)
        return graph.forward

    layer = Mixing(24, 2, MixingPlan())
    torch.compiler.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        compiled = torch.compile(layer.to_empty(device="cuda"), backend=backend, fullgraph=True)
        compiled(torch.empty(2, 4 * PLACES, 24, device="cuda"), Grid(4, 1, 1))
    assert len(graphs) == 1 and "setitem" in graphs[0] and "lit_video" not in graphs[0]


def test_the_plain_way_where_the_kernel_cannot_be():
    assert fake_run(MixingPlan(), wrap=in_vmap) == []
    with FakeTensorMode():
        qkv = torch.empty(2, 4 * PLACES, 72, device="cuda")
        assert Mixing.in_place(qkv, 4)
        assert not Mixing.in_place(qkv[:1], 4), "a part of it"
        assert not Mixing.in_place(qkv.view(2, -1, 36), 4), "other rows"
        assert not Mixing.in_place(qkv.transpose(0, 1).contiguous().transpose(0, 1), 4)
        assert not Mixing.in_place(qkv, 2000)
        assert not Mixing.in_place(torch.empty(2, 4 * PLACES, 72), 4)


def in_vmap(layer):
    return lambda x, grid: vmap(lambda clip: layer(clip[None], grid)[0])(x)


@pytest.mark.parametrize(("pointer", "name"), product(["bf16", "fp32"], KERNELS))
def test_compiles_for_a_gpu_that_is_not_there_and_reads_16_bytes_at_once(pointer, name):
    move, width = Move(8, 197, 12, 1, 2, 0, 16, 6), 768
    kernel = getattr(mixing_kernel, name)
    constants = move.constants(width) | {"BLOCK": 256 if name == "mix_kernel" else 1024, "LINES": 768, "TIMES": 8}
    names = kernel.arg_names
    pointers = {"qkv", "out", "query", "key", "value"} & set(names)
    aligned = [name for name in names if name in pointers or name.endswith("_step")]
    source = ASTSource(
        kernel,
        {n: f"*{pointer}" if n in pointers else "constexpr" if n in constants else "i32" for n in names},
        {(names.index(n),): value for n, value in constants.items() if n in names},
        {(names.index(n),): [["tt.divisibility", 16]] for n in aligned},
    )
    made = compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": constants["num_warps"]})
    moves = re.findall(r"(?:ld|st)\.global\S*", made.asm["ptx"])
    assert moves and all("v4" in each for each in moves)
    assert ("bar.sync" in made.asm["ptx"]) == (name == "mix_kernel")


class Target:
    """A GPU that is not there, as Triton sees it."""

    def get_current_device(self):
        return "a GPU that is not there"

    def get_current_stream(self, device):
        return 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)


class Compiled:
    """A kernel that is compiled for its arguments, and not started."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.made = []

    def __getitem__(self, grid):
        return lambda *args, **options: self.made.append(self.kernel.run(*args, grid=grid, warmup=True, **options))


@pytest.mark.parametrize(("frames", "places"), [(2, 1), (1, 2), (1, 1), (16, 16)])
def test_compiles_for_any_numbers_of_frames_and_places(frames, places, monkeypatch):
    """Triton makes constants of arguments that are 1, unless told otherwise."""
    monkeypatch.setattr(driver, "_active", Target())
    kernels = {name: Compiled(getattr(mixing_kernel, name)) for name in KERNELS}
    for name, kernel in kernels.items():
        monkeypatch.setattr(mixing_kernel, name, kernel)
    move, tokens = list(Move(frames, places, 1, 1, 1, 1, 1, 1)), frames * places  # as in ``works``
    mixing_kernel.mix_(torch.zeros(1, tokens, 6), move)
    mixing_kernel.join_gradients(*torch.zeros(3, 1, tokens, 2), move)
    assert all(kernel.made[0].asm["cubin"] for kernel in kernels.values())
