"""Test that names of run folders stay inside ``--runs``."""

import pytest

from lit_video.errors import UserError
from lit_video.tables.reading import read_table

BAD = ["../../..", ".", ".hidden", "/tmp/x", "a b", "-rf", "", "ü", "a\\b", "a\nb", "$HOME", "x" * 200]


@pytest.mark.parametrize("name", BAD)
def test_a_row_that_is_no_folders_name_is_refused_with_file_and_key(table, name):
    path, rewrite = table
    rewrite("    second:", f'    "{name.encode("unicode_escape").decode()}":')
    with pytest.raises(UserError, match=r"two\.yaml: table\.rows\.") as error:
        read_table([path])
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("scale", "file", "overlay", "recipe", "message"),
    [
        ("../up", "two", "", "", r"two\.yaml: table\.scale: '\.\./up' "),
        ("fine", "a table", "", "", r"a table\.yaml: the file's name 'a table' "),
        ("fine", "two", "big one", "", r"big one\.yaml: the file's name 'big one' "),
        ("fine", "two", "big", "../x", r"big\.yaml: recipes\.\.'\.\./x' "),
    ],
)
def test_a_scale_a_file_and_a_recipe_are_refused_likewise(scale, file, overlay, recipe, message, table, tmp_path):
    path, rewrite = table
    rewrite("  source: a test", f'  source: a test\n  scale: "{scale}"')
    files = [path.rename(tmp_path / f"{file}.yaml")]
    if overlay:
        files.append(tmp_path / f"{overlay}.yaml")
        files[-1].write_text(
            "scale: true\n"
            f'recipes: {{"": {{paper: {{trainer.max_epochs: 1}}, "{recipe}": {{trainer.max_epochs: 2}}}}}}\n'
        )
    with pytest.raises(UserError, match=message):
        read_table(files, recipe or None)
