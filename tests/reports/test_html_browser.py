"""The page in a real browser: what its script does, and that it fits narrow and dark screens."""

import re
import shutil

import pytest

from lit_video.__main__ import main
from tests.fake_runs import EXPERIMENTS, write_table_runs

selenium = pytest.importorskip("selenium.webdriver", reason="needs selenium (pip install selenium)")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver (apt-get install chromium chromium-driver)"
)

# background and text, as shown: (relative luminance of both) -> contrast as WCAG defines it
CONTRAST = """
const light = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255)
    .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = light(getComputedStyle(document.body).backgroundColor);
const ratio = (colour) => (Math.max(light(colour), ground) + 0.05) / (Math.min(light(colour), ground) + 0.05);
const texts = [...document.querySelectorAll("p, td, th, dt, dd, a, caption, figcaption, .quiet, button")]
  .filter((each) => !each.closest(".note, thead")).map((each) => ratio(getComputedStyle(each).color));
const marks = [...document.querySelectorAll(".curves use")].map((each) => getComputedStyle(each).stroke)
  .filter((stroke) => stroke !== "none");
const labels = [...document.querySelectorAll(".picture text")].filter((each) => !each.style.fill.includes("254"));
const seen = [...marks, ...labels.map((each) => getComputedStyle(each).fill)].map(ratio);
return [Math.min(...texts), Math.min(...seen), ground, marks.length, labels.length];
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_table_runs(folder / "runs", "timesformer_schemes", rows=["space", "joint", "divided", "local_global"])
    write_table_runs(folder / "runs", "vivit_models", seeds=1, classes=40, videos=400, throughput=False)
    path = folder / "report.html"
    assert main(["report", str(folder / "runs"), "-o", str(path), "--experiments", str(EXPERIMENTS)]) == 0
    return path.as_uri()


@pytest.fixture(scope="module")
def chromium():
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = selenium.Chrome(options=options, service=selenium.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def show(chromium, page):
    """Open the page with a width and a colour scheme; it must log nothing."""

    def opened(width=1280, scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        chromium.get_log("performance")
        chromium.get(page)
        return chromium

    yield opened
    assert chromium.get_log("browser") == []


def column(driver, index, table=0):
    cells = "[...document.querySelectorAll('table.sortable')[arguments[0]].tBodies[0].rows]"
    return driver.execute_script(f"return {cells}.map((row) => row.cells[arguments[1]].textContent)", table, index)


def test_a_click_and_a_key_sort_a_table(show):
    driver = show()
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


def bars(driver):
    lines = "[...[...document.querySelectorAll('.classes')].at(-1).querySelectorAll('tbody tr')]"
    return driver.execute_script(f"return {lines}.map((line) => [...line.cells].map((cell) => cell.textContent))")


def test_classes_of_the_best_and_worst_row_are_shown_and_then_of_the_chosen_ones(show):
    driver = show()
    first = bars(driver)
    assert len(first) == 24  # of 40 classes
    box = driver.find_elements("css selector", ".classes")[-1]
    one, other = box.find_elements("css selector", "select")
    names = [one.find_element("css selector", "option:checked").text for one in (one, other)]
    for select, name in ((one, names[1]), (other, names[0])):
        select.find_element("xpath", f"option[text()='{name}']").click()
    assert [each.text for each in box.find_elements("css selector", ".named")] == names[::-1]
    turned = {line[0]: float(line[3]) for line in bars(driver)}
    shared = [line for line in first if line[0] in turned]
    assert len(shared) > 12
    assert all(turned[line[0]] == -float(line[3]) for line in shared)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 800, 1280])
def test_the_page_fits_and_can_be_read(show, width, scheme):
    driver = show(width, scheme)
    root = "document.documentElement"
    assert driver.execute_script(f"return {root}.scrollWidth <= {root}.clientWidth && innerWidth") == width
    text, mark, ground, marks, labels = driver.execute_script(CONTRAST)
    assert text >= 4.5 and mark >= 3
    assert marks > 50 and labels > 50
    assert (ground < 0.05) == (scheme == "dark")
    messages = [entry["message"] for entry in driver.get_log("performance") if "requestWillBeSent" in entry["message"]]
    urls = [url for message in messages for url in re.findall(r'"url":"([^"]+)"', message)]
    assert urls and all(url.startswith(("file:", "data:")) for url in urls)
