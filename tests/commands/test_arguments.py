import pytest

from lit_video.errors import UserError
from tests.command_line import parse_request


def rows(table, *flags):
    return [row.name for row in parse_request(["--config", str(table), *flags]).rows]


def test_rows_are_named_or_numbered_with_commas_or_one_by_one(table):
    assert rows(table[0]) == ["first", "second"]
    assert rows(table[0], "--row", "second,0") == ["second", "first"]
    assert rows(table[0], "--row", "first", "--row=second") == ["first", "second"]
    assert rows(table[0], "--row", "first,0") == ["first"]
    with pytest.raises(UserError, match="no row 'third'"):
        rows(table[0], "--row", "first,third")
