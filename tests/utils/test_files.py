from lit_video.utils.files import files_below


def test_linked_folders_are_followed_each_once(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.mp4").touch()
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos/a.mp4").touch()
    (tmp_path / "videos/linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/back").symlink_to(tmp_path / "videos")
    found = [path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path / "videos")]
    assert found == ["videos/a.mp4", "videos/linked/b.mp4"]
