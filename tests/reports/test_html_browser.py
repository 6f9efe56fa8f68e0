"""Test the page's script in a real browser."""

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
def driver(tmp_path):
    """Browser that shows a page, and must log nothing."""
    rows = ["space", "control_timesformer", "joint", "divided", "local_global"]
    write_table_runs(tmp_path / "runs", "timesformer_schemes", rows=rows)
    path = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "runs"), "-o", str(path), "--experiments", str(EXPERIMENTS)]) == 0
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    driver.get(path.as_uri())
    yield driver
    assert driver.get_log("browser") == []
    driver.quit()


def test_a_click_and_a_key_sort_a_table(driver):
    def column(index):
        cells = "[...document.querySelector('table.sortable').tBodies[0].rows].map((row) => row.cells[arguments[0]]"
        return driver.execute_script(f"return {cells}.textContent)", index)

    before, buttons = column(4), driver.find_elements("css selector", "table.sortable thead button")
    header = buttons[4].find_element("xpath", "..")
    missing = [cell for cell in before if cell == "not run"]
    numbers = sorted(float(cell.split(" ")[0]) for cell in before if cell != "not run")
    assert missing and numbers[0] < numbers[-1]
    for press, order, expected in (
        (buttons[4].click, "ascending", numbers),
        (lambda: buttons[4].send_keys("\n"), "descending", numbers[::-1]),
    ):
        press()
        cells = column(4)
        assert header.get_attribute("aria-sort") == order
        assert [float(cell.split(" ")[0]) for cell in cells[: len(numbers)]] == expected
        assert cells[len(numbers) :] == missing, "rows that were not run stay last"
    buttons[4].send_keys(" ")
    assert (header.get_attribute("aria-sort"), column(4)) == ("none", before)
    buttons[0].click()
    assert column(0) == sorted(column(0), key=str.casefold) and header.get_attribute("aria-sort") == "none"


@pytest.mark.parametrize("tag", ["p", "li", "h2", "summary", "dd"])
def test_a_long_path_does_not_leave_a_page_as_narrow_as_a_phone(tag, driver):
    size = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    put = "const part = document.createElement(arguments[0]); part.textContent = arguments[1]"
    driver.execute_script(f"{put}; document.body.append(part)", tag, "own/" + "a_folder_with_a_name/" * 6)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= size["width"]
