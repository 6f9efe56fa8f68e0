"""Test that packed runs are read like the folders that they were packed from."""

import shutil
from dataclasses import replace

from lit_video.__main__ import main
from lit_video.reports.html.collect import collect
from lit_video.runs.folder import read_curves, read_finished, run_folders
from lit_video.runs.predictions import FILE, file_of_further, packed_predictions, read_predictions
from lit_video.tables.time_use import read_time_use
from tests.fake_runs import EXPERIMENTS, ROWS, change_result, seed_dir, write_table_runs


def test_a_table_and_a_report_of_packs_are_those_of_the_folders(fake_runs, tmp_path, capsys):
    packs = tmp_path / "packs"
    assert main(["pack", str(fake_runs), "-o", str(packs)]) == 0
    assert f"{packs}/timesformer_schemes.tar.xz: 6 runs" in capsys.readouterr().out
    assert [path.name for path in packs.iterdir()] == ["timesformer_schemes.tar.xz"]
    for place in (tmp_path, packs, packs / "timesformer_schemes.tar.xz", packs / "timesformer_schemes/fake"):
        assert [run.parts[-4:] for run in run_folders(place)] == [run.parts[-4:] for run in run_folders(fake_runs)]
    assert len(run_folders(packs / "timesformer_schemes/fake/joint")) == 2
    for run in run_folders(fake_runs):
        packed = packs.joinpath(*run.parts[-4:])
        assert replace(read_finished(packed), folder=run) == read_finished(run) and read_curves(packed) == read_curves(
            run
        )
        (ours,), (theirs,) = (read_predictions(one, read_finished(one).result).tasks.values() for one in (packed, run))
        assert (ours.predicted == theirs.predicted).all() and (ours.rank == theirs.rank).all()
        assert abs(ours.confidence - theirs.confidence).max() < 1e-6
    (section,), (other,) = (collect([place], EXPERIMENTS) for place in (packs, fake_runs))
    assert section.data == other.data and section.curves == other.curves


def test_tests_in_other_orders_are_packed_with_the_run(fake_runs, tmp_path):
    run = seed_dir(fake_runs)
    other = seed_dir(fake_runs, ROWS[0], 1)
    result = read_finished(run).result
    changed = read_predictions(other)
    (run / file_of_further("reversed")).write_bytes(packed_predictions(changed))
    metrics = {**result.metrics, "reversed/video_top1": 100 * float(changed.hits().mean())}
    change_result(run, metrics=metrics)
    assert main(["pack", str(run), "-o", str(tmp_path / "packs")]) == 0
    packed = read_finished(tmp_path.joinpath("packs", *run.parts[-4:]))
    use = read_time_use([packed])
    assert use is not None and use == read_time_use([read_finished(run)])


def test_runs_are_added_to_a_pack_and_replace_those_of_their_names(tmp_path, capsys):
    for scale in ("fake", "other"):
        write_table_runs(tmp_path / scale, "timesformer_schemes", scale, 2, rows=ROWS[:1], videos=30)
    first, second = (tmp_path / f"{scale}/timesformer_schemes/{scale}/space" for scale in ("fake", "other"))
    change_result(first / "seed1", seconds=7.0)
    packs = tmp_path / "packs"
    for place in (first, second, first):
        assert main(["pack", str(place), "-o", str(packs)]) == 0
    assert len(run_folders(packs)) == 4
    content = (packs / "timesformer_schemes.tar.xz").read_bytes()
    change_result(first / "seed1", seconds=8.0)
    assert main(["pack", str(tmp_path / "fake"), "-o", str(packs)]) == 0
    assert read_finished(packs / "timesformer_schemes/fake/space/seed1").result.seconds == 8.0
    change_result(first / "seed1", seconds=7.0)
    assert main(["pack", str(tmp_path / "fake"), "-o", str(packs)]) == 0
    assert (packs / "timesformer_schemes.tar.xz").read_bytes() == content, "equal runs make equal packs"
    shutil.copytree(first, packs / "timesformer_schemes/fake/space")
    change_result(packs / "timesformer_schemes/fake/space/seed1", seconds=9.0)
    assert read_finished(packs / "timesformer_schemes/fake/space/seed1").result.seconds == 9.0, (
        "a folder takes precedence"
    )
    assert len(run_folders(packs)) == 4
    capsys.readouterr()


def test_two_runs_of_one_name_are_not_packed_and_no_file_of_another_run_is_read(tmp_path, capsys):
    for place in ("a", "b"):
        write_table_runs(tmp_path / place, "timesformer_schemes", seeds=1, rows=ROWS[:1], videos=30)
    a, b, packs = (tmp_path / name for name in ("a", "b", "packs"))
    assert main(["pack", str(a), str(b), "-o", str(packs)]) == 2 and not packs.exists()
    assert f"{seed_dir(a)} has the same table, scale, row and seed; give only one" in capsys.readouterr().err
    (seed_dir(a) / FILE).unlink()
    assert main(["pack", str(a), str(a / "timesformer_schemes"), "-o", str(packs)]) == 0
    seed_dir(packs).mkdir(parents=True)
    shutil.copy(seed_dir(b) / FILE, seed_dir(packs))  # no run.json: this run is not finished
    assert read_finished(seed_dir(packs)) and read_predictions(seed_dir(packs)) is None
