"use strict";
// Tables: a heading sorts and says what it means, rows can be downloaded.
(() => {
  const every = (selector, within = document) => [...within.querySelectorAll(selector)];

  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return cell.dataset.v === "" ? null : Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === "" ? null : text.toLowerCase();
  }

  function sort(head) {
    const now = head.getAttribute("aria-sort");
    const falling = now === "none" ? head.dataset.better === "higher" : now === "ascending"; // the best first
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    for (const body of head.closest("table").tBodies) { // ranked rows stay above the others
      const own = [...body.rows].filter((row) => !row.classList.contains("block"));
      own.sort((a, b) => {
        const [u, v] = [value(a, head.cellIndex), value(b, head.cellIndex)];
        if (u === null || v === null) return (u === null) - (v === null); // empty cells last, either way
        const order = u < v ? -1 : u > v ? 1 : 0;
        return falling ? -order : order;
      });
      body.append(...own);
    }
  }

  for (const head of every("table.sortable thead th")) {
    const button = head.querySelector("button");
    const said = head.closest(".panel")?.querySelector(".meaning");
    const explain = () => {
      if (!said || !head.dataset.meaning) return;
      const better = head.dataset.better ? ` (${head.dataset.better} is better)` : "";
      said.textContent = `${button.textContent}: ${head.dataset.meaning}${better}`;
    };
    for (const kind of ["pointerenter", "focusin", "click"]) head.addEventListener(kind, explain);
    button.addEventListener("click", () => sort(head));
  }

  // A text that a spreadsheet would take for a formula gets an apostrophe in front.
  const quoted = (text) => `"${(/^[=+\-@\t\r]./.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text).replace(/"/g, '""')}"`;

  // The rows that are seen, with all columns.
  function csv(table) {
    const heads = [...table.tHead.rows[0].cells];
    const lines = [heads.map((head) => quoted(head.querySelector("button").textContent)).join(",")];
    for (const row of every("tbody tr[data-name]:not([hidden])", table)) {
      lines.push([...row.cells].map((cell) => {
        if (cell.tagName === "TH") return quoted(row.dataset.name);
        return cell.dataset.v !== undefined && !/ to /.test(cell.textContent) ? cell.dataset.v : quoted(cell.textContent.trim());
      }).join(","));
    }
    return lines.join("\n") + "\n";
  }

  for (const button of every(".csv")) {
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      const panel = button.closest(".panel");
      const parts = [button.closest(".board").dataset.board, panel.dataset.track].filter(Boolean);
      link.href = URL.createObjectURL(new Blob([csv(panel.querySelector("table.sortable"))], { type: "text/csv" }));
      link.download = `${parts.join("-")}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }
})();
