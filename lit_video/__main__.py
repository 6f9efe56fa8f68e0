"""``python -m lit_video``: finds the command, and imports only what it needs."""
# PYTHON_ARGCOMPLETE_OK: argcomplete's script looks for this mark before it asks for completions

import os
import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper

from lit_video import __version__
from lit_video.errors import RunFailed, UserError
from lit_video.utils.startup import quiet
from lit_video.utils.stop_signals import DONE, FAILED, INTERRUPTED, MISTAKE, finish
from lit_video.utils.text import did_you_mean

HELP = """\
lit_video: train, compare and reproduce video transformers.

usage: python -m lit_video COMMAND ...

  finetune DIR                         from a folder of your own videos to a trained and tested model
      [--weights NAME|FILE] [--scheme X] [--minutes N] [--group COLUMN|none] [-o DIR]
  compare DIR --schemes A,B            attention schemes side by side on them
      [--seeds 3] [--minutes N] [--group COLUMN|none] [-o DIR]
  fit --config TABLE.yaml              train and test every row of a table, then print it
      --config experiments/scale/X.yaml     at another scale
      --recipe paper|released               of the scale, where the paper and its code disagree
      --row NAME|INDEX                      one row only (a Slurm array's task id works)
      --seeds 0,1,2                         each row once per seed
      --runs DIR                            where runs live (default: runs)
      --jobs N                              rows side by side, each on a GPU or a share of the cores (default: 1)
      --reuse                               train once what is the same run in several rows or tables
      --model.X, --data.X, --trainer.X      any other setting, see fit --help
  sweep TABLE.yaml ...                 all rows and seeds of many tables: what is left of them
      --launcher local|slurm                on this machine's GPUs or cores, or as Slurm arrays
      [--config OVERLAY.yaml] [--seeds 0,1,2] [--jobs N] [--gpus-per-run N] [--nodes N] [--time T] [--partition P]
      --status                              how far they are: running, queued, preempted, failed, done
  table --config TABLE.yaml            print a table as it stands
      [--format text|json|markdown|latex] [--pairs] [--seeds 0,1,2] [--runs DIR] [--plot SKILLS.png|.svg]
  report RUNS... [-o report.html]      one page of tables, statistics, curves and confusions; opens without a server
      [--experiments DIR]                   where the tables' YAML files are (default: experiments)
  pack RUNS... -o DIR                  finished runs in one file per table, without logits and checkpoints
  validate, test                       --ckpt RUN: a finished run on its data, with its settings
                                       (or --model.weights FILE: a released checkpoint)
      --weights hub:NAME --data.root DIR    published weights, with all settings of their evaluation
      [--order reversed|shuffled|static]    of the frames: what the model makes of time
  predict --ckpt RUN VIDEO|FOLDER|GLOB ...   names and probabilities; needs no other file
      [--top 5] [-o FILE.csv|.json] [--features FILE.npz] [--draw FILE.mp4|DIR] [--clips N] [--crops M]
      --stream [--rate N]                   of a causal X-ViT: a line per frame, while the video is decoded
      --every SECONDS [--window SECONDS] [--plot FILE|DIR]    of long videos: classes over time, and segments
  attention VIDEO --ckpt RUN    where the model looks, frame by frame: attention rollout, or each head
      [-o FILE.png|.gif|.mp4] [--label CLASS] [--heads] [--layers all|last] [--token T,ROW,COLUMN]
  attention --ckpt RUN -o DIR   the same of the run's test, a picture for each class, failures first [--each 3]
  embed --ckpt RUN -o FILE.png [VIDEO|FOLDER ...]   features in the plane, coloured by class; without videos
      [--method tsne|umap] [--csv FILE.csv]                   those of the run's test split
  cost                                 parameters and multiply-adds of every scheme, beside the papers' figures
      [--config TABLE.yaml] [--json] [--plot FILE]
  export --to hf-timesformer|hf-vivit  --ckpt RUN -o DIR: a folder for transformers' from_pretrained
  export --to pt2|onnx|safetensors     --ckpt RUN -o DIR: a program for batches of any size, or weights
  weights [--format text|markdown]     published weights, for --model.weights hub:NAME
  weights fetch NAME ...               download them; what was begun goes on
  benchmark table --config TABLE.yaml  clips per second of every row, one after the other in rounds
      [--config SCALE.yaml] [--batch 8] [--repeats 9] [--runs DIR]
  reproduce [--check]                  REPRODUCE.md: what was reproduced at which scale, from benchmarks/results
  dashboard [TABLE.yaml ...]           a workspace and a report at W&B that compare the rows of tables, all by default
      [--config OVERLAY.yaml] [--dry-run] [--entity E] [--project lit_video]
  data check ROOT --dataset NAME       look at every video: what is missing, what is broken; also
  data stats, prepare                  tables of a data set; videos encoded for training (data --help)
  doctor [--runs DIR]                  what works on this machine, what does not, what to do
  COMMAND --help                       all options of a command

A finished row is skipped, an interrupted one goes on where it stopped: the same command again is always right.
"""

# the function in ``commands`` that runs each command; imported when it is run, because many need torch
COMMANDS = {
    "fit": "fit.fit",
    "finetune": "own_videos.finetune",
    "compare": "own_videos.compare",
    "sweep": "sweep.sweep",
    "table": "table.print_table",
    "report": "report.report",
    "pack": "pack.pack",
    "validate": "evaluate.validate",
    "test": "evaluate.test",
    "predict": "predict.predict",
    "attention": "attention.attention",
    "embed": "embed.embed",
    "cost": "cost.cost",
    "export": "export.export",
    "weights": "weights.weights",
    "weights fetch": "weights.fetch_weights",
    "benchmark table": "benchmark_table.benchmark_table",
    "reproduce": "reproduce.reproduce",
    "dashboard": "dashboard.dashboard",
    "data": "data.data",
    "doctor": "doctor.doctor",
}


def main(argv: list[str]) -> int:
    """Run a command; returns the exit status."""
    if not argv or argv[0] in {"-h", "--help", "help"}:
        print(HELP, end="")
        return 0
    if argv[0] == "--version":
        print(__version__)
        return 0
    try:
        return _dispatch(argv)
    except UserError as error:
        print(f"error: {error.on_command_line}", file=sys.stderr)
        return FAILED if isinstance(error, RunFailed) else MISTAKE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        return 141


def _dispatch(argv: list[str]) -> int:
    words = next((n for n in (2, 1) if " ".join(argv[:n]) in COMMANDS), 0)
    group = [name for name in COMMANDS if name.startswith(f"{argv[0]} ")]
    if not words and group:
        print(f"{argv[0]} is one of: {', '.join(group)}; each has --help")
        return DONE if argv[1:] in (["--help"], ["-h"]) else MISTAKE
    if not words:
        near = did_you_mean(argv[0], COMMANDS)
        raise UserError(f"no command {argv[0]!r}{near}; commands: {', '.join(COMMANDS)} (see --help)")
    return command(" ".join(argv[:words]))(argv[words:])


def command(name: str) -> Callable[[list[str]], int]:
    """The function that runs a command with the arguments that follow its name."""
    module, _, function = COMMANDS[name].rpartition(".")
    runner: Callable[[list[str]], int] = getattr(import_module(f"lit_video.commands.{module}"), function)
    return runner


def run() -> None:
    """Entry point of the installed command."""
    if "_ARGCOMPLETE" in os.environ:
        try:
            from lit_video.commands.completion import complete
        except ImportError:
            sys.exit("completion: argcomplete is not installed; pip install 'lit_video[completion]'")
        complete(main)
        return
    quiet()
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal without ± shows a question mark
        sys.stdout.reconfigure(errors="replace")
    status = main(sys.argv[1:])
    finish(status)
    sys.exit(status)


if __name__ == "__main__":
    run()
