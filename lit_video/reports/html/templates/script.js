"use strict";

// Sortable tables: a click on a header, or Enter or Space on it, sorts up, then down, then as it was.
const NEXT = { none: "ascending", ascending: "descending", descending: "none" };

function key(row, column) {
  const cell = row.cells[column];
  const words = cell.textContent.trim();
  if (cell.matches("th, .words")) return words || null;
  const number = parseFloat(words);
  return Number.isNaN(number) ? null : number;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sortable(table) {
  const body = table.tBodies[0];
  const original = [...body.rows];
  for (const button of table.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const header = button.closest("th");
      const order = NEXT[header.getAttribute("aria-sort")];
      for (const other of table.querySelectorAll("thead th[aria-sort]")) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      const keyed = original.map((row) => [key(row, header.cellIndex), row]);
      if (order !== "none") {
        const sign = order === "ascending" ? 1 : -1;
        // rows without a number stay last in both directions
        keyed.sort(([a], [b]) => (a === null) - (b === null) || (a === null ? 0 : sign * compare(a, b)));
      }
      body.append(...keyed.map(([, row]) => row));
    });
  }
}

// Differences of classes between two rows that the reader chooses.
function cell(name, words, scope) {
  const made = document.createElement(name);
  if (scope) made.scope = scope;
  made.textContent = words;
  return made;
}

function classRow(line) {
  const row = document.createElement("tr");
  const plot = cell("td", "");
  plot.className = "plot";
  const bar = document.createElement("span");
  bar.className = `bar ${line.difference >= 0 ? "more" : "less"}`;
  bar.style.setProperty("--size", Math.abs(line.difference).toFixed(1));
  plot.append(bar);
  const difference = (line.difference < 0 ? "" : "+") + line.difference.toFixed(1);
  row.append(cell("th", line.name, "row"), cell("td", line.first.toFixed(1)), cell("td", line.second.toFixed(1)),
    cell("td", difference), plot, cell("td", String(line.videos)));
  return row;
}

function classes(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const chosen = [box.querySelector(".first"), box.querySelector(".second")];
  const names = box.querySelectorAll(".named");
  const show = () => {
    const [one, other] = chosen.map((select) => data.rows[Number(select.value)]);
    const lines = data.classes
      .map((name, i) => ({ name, first: one.top1[i], second: other.top1[i], videos: data.videos[i] }))
      .filter((line) => line.first !== null && line.second !== null)
      .map((line) => ({ ...line, difference: line.first - line.second }))
      .sort((a, b) => b.difference - a.difference);
    const few = lines.length <= 2 * data.most + 2;
    const shown = few ? lines : [...lines.slice(0, data.most), ...lines.slice(-data.most)];
    names[0].textContent = one.label;
    names[1].textContent = other.label;
    box.querySelector("tbody").replaceChildren(...shown.map(classRow));
  };
  for (const select of chosen) select.addEventListener("change", show);
  box.querySelector(".choose").hidden = false;
  show();
}

// What is in the page, or in a fold that is opened for the first time: until then it is text.
function ready(root) {
  root.querySelectorAll("table.sortable").forEach(sortable);
  if (root.matches(".classes")) classes(root);
  root.querySelectorAll(".classes:has(> script)").forEach(classes);
}

document.addEventListener("toggle", ({ target }) => {
  const kept = target.open && target.querySelector(":scope > noscript");
  if (!kept) return;
  const content = document.createElement("template");
  content.innerHTML = kept.textContent;
  kept.replaceWith(content.content);
  ready(target);
}, true);

if (innerWidth < 640) document.querySelectorAll("nav details").forEach((each) => each.removeAttribute("open"));
ready(document.documentElement);
