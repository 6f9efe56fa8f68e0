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

// What is in the page, or in a fold that is opened for the first time: until then it is text.
function ready(root) {
  root.querySelectorAll("table.sortable").forEach(sortable);
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
