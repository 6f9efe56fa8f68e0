"""The page in a real browser: what its script does."""

import shutil

import pytest

from lit_video.__main__ import main
from tests.fake_runs import EXPERIMENTS, write_table_runs

selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium (pip install selenium)")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)"
)


@pytest.fixture
def page(tmp_path):
    write_table_runs(tmp_path / "runs", "timesformer_schemes", rows=["space", "joint", "divided", "local_global"])
    path = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "runs"), "-o", str(path), "--experiments", str(EXPERIMENTS)]) == 0
    return path.as_uri()


@pytest.fixture
def driver(page):
    """The page in a browser; it must log nothing."""
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    driver.get(page)
    yield driver
    assert driver.get_log("browser") == []
    driver.quit()


def column(driver, index, table=0):
    cells = "[...document.querySelectorAll('table.sortable')[arguments[0]].tBodies[0].rows]"
    return driver.execute_script(f"return {cells}.map((row) => row.cells[arguments[1]].textContent)", table, index)


def test_a_click_and_a_key_sort_a_table(driver):
    before = column(driver, 4)
    buttons = driver.find_elements("css selector", "table.sortable")[0].find_elements("css selector", "thead button")
    header = buttons[4].find_element("xpath", "..")
    numbers = sorted(float(cell.split(" ")[0]) for cell in before if cell != "not run")
    seen = []
    for press in (buttons[4].click, lambda: buttons[4].send_keys("\n"), lambda: buttons[4].send_keys(" ")):
        press()
        seen.append((header.get_attribute("aria-sort"), column(driver, 4)))
    assert [order for order, _ in seen] == ["ascending", "descending", "none"]
    for (_, cells), expected in zip(seen, (numbers, numbers[::-1]), strict=False):
        assert [float(cell.split(" ")[0]) for cell in cells[:-1]] == expected
        assert cells[-1] == "not run"
    assert seen[2][1] == before
    buttons[0].click()
    assert column(driver, 0) == sorted(column(driver, 0))
    assert header.get_attribute("aria-sort") == "none"
