"""Test that docs/architecture.md lists all state that outlives a call, of objects and of the process."""

import ast
import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text()
CONSTRUCTORS = ("__init__", "__post_init__", "__init_subclass__", "__setstate__")
CHANGES = {"append", "add", "update", "setdefault", "clear", "extend", "pop", "register_buffer", "register_parameter"}
LASTING = {"self", "model", "pl_module", "module", "network", "trainer", "saver", "callback"}  # names of such objects
ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \| (\S.*) \|$", re.M)
FILE_ROW = re.compile(r"^\| `([\w/]+\.py)` \| (?:\S.*) \| (?:\S.*) \|$", re.M)
# calls and assignments that change what a whole process shares
CALLS = re.compile(
    r"torch\.(set_\w+|manual_seed|default_generator\.\w+)|random\.(seed|setstate)|np\.random\.(seed|set_state)"
    r"|(\w+\.|super\(\)\.)?(_set_seed|seed_everything|register_module_\w+|set_start_method|set_sharing_strategy)"
    r"|signal\.signal|atexit\.register|warnings\.(filterwarnings|simplefilter)|logging\.disable"
    r"|.+\.(setLevel|addHandler)|os\.(environ\.(setdefault|pop|update|clear)|umask|chdir|nice)|sys\.path\.\w+"
)
PLACES = re.compile(r"(os\.environ|sys|torch|logging|warnings|matplotlib)\b.*")


@pytest.fixture(scope="module")
def files():
    """Files of the package by name, parsed."""
    package = ROOT / "lit_video"
    return {path.relative_to(package).as_posix(): ast.parse(path.read_text()) for path in package.rglob("*.py")}


def lasting_attribute(node):
    """Return the attribute of an object that outlives the call which an expression is, or is a part of; or ``None``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LASTING:
            return node.attr
        node = node.value
    return None


def targets_of(node):
    """Return the expressions that a statement assigns or deletes."""
    if isinstance(node, ast.Assign):
        return [part for target in node.targets for part in getattr(target, "elts", [target])]
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.target]
    return node.targets if isinstance(node, ast.Delete) else []


def changed(kind):
    """Return the attributes that methods of a class change after its construction."""
    attributes = set()
    for method in kind.body:
        if not isinstance(method, ast.FunctionDef) or method.name in CONSTRUCTORS:
            continue
        for node in ast.walk(method):
            targets = targets_of(node)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
                targets = [node.func.value]
            attributes |= {lasting_attribute(target) for target in targets}
    return attributes - {None}


def changes_the_process(tree):
    """Return whether code changes what its whole process shares."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and CALLS.fullmatch(ast.unparse(node.func)):
            return True
        if any(PLACES.fullmatch(ast.unparse(target)) for target in targets_of(node)):
            return True
    return False


def test_the_page_lists_all_state_that_outlives_a_call(files):
    listed = {(row[1], name) for row in ROW.finditer(PAGE) for name in re.findall(r"\w+", row[2])}
    expected = set()
    for file, tree in files.items():
        if not file.startswith("commands/"):  # a command has a process of its own
            kinds = [node for node in tree.body if isinstance(node, ast.ClassDef)]
            expected |= {(kind.name, name) for kind in kinds for name in changed(kind)}
    assert sorted(expected - listed) == [], "write down what clears it"
    assert sorted(listed - expected) == [], "no longer there"


def test_the_page_lists_all_that_is_changed_of_the_process(files):
    expected = {file for file, tree in files.items() if changes_the_process(tree)}
    listed = set(FILE_ROW.findall(PAGE))
    assert sorted(expected - listed) == [], "write down what gives it back"
    assert sorted(listed - expected) == [], "no longer there"


@pytest.mark.parametrize(
    "line",
    [
        "os.environ['A'] = '1'",
        "os.environ |= {}",
        "del os.environ['A']",
        "sys.stdout = None",
        "torch.backends.cudnn.benchmark = True",
        "torch.set_num_threads(1)",
        "np.random.seed(0)",
        "seed_everything(0)",
        "logging.getLogger('x').setLevel(0)",
    ],
)
def test_a_change_of_the_process_is_seen(line):
    assert changes_the_process(ast.parse(line))


def test_reading_the_process_is_no_change():
    text = "state = torch.get_rng_state(), random.Random(0), np.random.default_rng(0), os.environ.get('A')"
    assert not changes_the_process(ast.parse(text))
