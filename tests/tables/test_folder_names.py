"""Names that become folders of runs stay inside ``--runs``."""

import pytest

from lit_video.errors import UserError
from lit_video.tables.reading import read_table

BAD = ["../../..", ".", ".hidden", "/tmp/x", "a b", "-rf", "+x", "", "ü", "a\\b", "a\nb", "~", "$HOME", "x" * 200]


@pytest.mark.parametrize("name", BAD)
def test_a_row_that_is_no_folders_name_is_refused_with_file_and_key(table, name):
    path, rewrite = table
    rewrite("    second:", f'    "{name.encode("unicode_escape").decode()}":')
    with pytest.raises(UserError, match=r"two\.yaml: table\.rows\.") as error:
        read_table([path])
    assert len(str(error.value).splitlines()) == 1


def test_a_scale_and_a_tables_file_are_refused_likewise(table, tmp_path):
    path, rewrite = table
    rewrite("  source: a test", '  source: a test\n  scale: "../up"')
    with pytest.raises(UserError, match=r"two\.yaml: table\.scale: '\.\./up' "):
        read_table([path])
    rewrite('"../up"', "fine")
    for name in ("-two", "a table", ".two"):
        renamed = path.rename(tmp_path / f"{name}.yaml")
        with pytest.raises(UserError, match=rf"{name}\.yaml: the file's name '{name}' "):
            read_table([renamed])
        renamed.rename(path)
    overlay = tmp_path / "big one.yaml"
    overlay.write_text("trainer: {max_epochs: 3}\n")
    with pytest.raises(UserError, match=r"big one\.yaml: the file's name 'big one' "):
        read_table([path, overlay])
    overlay = overlay.rename(tmp_path / "big.yaml")
    overlay.write_text('recipes: {"": {paper: {trainer.max_epochs: 1}, "../x": {trainer.max_epochs: 2}}}\n')
    with pytest.raises(UserError, match=r"big\.yaml: recipes\.\.'\.\./x' "):
        read_table([path, overlay], "../x")
