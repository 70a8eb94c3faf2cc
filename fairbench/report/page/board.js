"use strict";
// Tabs, the choice of methods, sorting, a method's own view. The address says what is seen:
// #BOARD/METHOD/OTHER?without=a,b&ranked&find=text
(async () => {
  const every = (selector, within = document) => [...within.querySelectorAll(selector)];
  const boards = every(".board"), tabs = every('[role="tab"]'), rows = every("tr[data-name]");
  const find = document.querySelector(".find"), rankedOnly = document.querySelector(".ranked-only");
  const ones = every("input.one");
  const state = { board: boards[0]?.dataset.board, methods: [], find: "", without: new Set(), ranked: false, coloured: false };

  function read() {
    const [path, query = ""] = location.hash.slice(1).split("?");
    const [board, ...methods] = path.split("/").map(decodeURIComponent);
    const given = new URLSearchParams(query);
    if (boards.some((one) => one.dataset.board === board)) state.board = board;
    state.methods = methods.filter(Boolean).slice(0, 2);
    state.find = (given.get("find") ?? "").toLowerCase();
    state.ranked = given.has("ranked");
    state.without = new Set((given.get("without") ?? "").split(",").filter(Boolean));
  }

  function write() {
    const query = new URLSearchParams();
    if (state.without.size) query.set("without", [...state.without].join(","));
    if (state.ranked) query.set("ranked", "");
    if (state.find) query.set("find", state.find);
    const path = [state.board, ...state.methods].map(encodeURIComponent).join("/");
    history.replaceState(null, "", `#${path}${query.size ? `?${query}` : ""}`);
  }

  const seen = (row) =>
    row.dataset.name.toLowerCase().includes(state.find) &&
    !state.without.has(row.dataset.method) &&
    (!state.ranked || row.dataset.ranked === "yes");

  function choiceOf(panel, chart) {
    const shown = new Set(every("table.sortable tbody tr[data-name]", panel).filter(seen).map((row) => row.dataset.name));
    const first = state.coloured ? [] : charts.litAtFirst(chart);
    const own = new Set(state.methods.length ? state.methods : first);
    return { shown: (name) => shown.has(name) || own.has(name), lit: (name) => !own.size || own.has(name) };
  }

  function redraw() {
    for (const chart of charts.all) if (chart.dataset.drawn) charts.draw(chart, choiceOf(chart.closest(".panel"), chart));
  }

  function apply() {
    for (const board of boards) board.hidden = board.dataset.board !== state.board;
    for (const tab of tabs) {
      const own = tab.dataset.board === state.board;
      tab.setAttribute("aria-selected", own);
      tab.tabIndex = own ? 0 : -1;
    }
    for (const row of rows) row.hidden = !seen(row);
    for (const panel of every(".panel[data-dataset]")) {
      const own = every("tbody tr[data-name]", panel.querySelector("table.sortable"));
      const left = own.filter(seen).length;
      const ranks = own.some((row) => row.dataset.ranked === "yes") ? " Ranks are among all of them." : "";
      panel.querySelector(".seen").textContent = left < own.length ? `${left} of ${own.length} rows are shown.${ranks}` : "";
      const cards = panel.querySelector(".cards");
      for (const card of every(".card", cards)) card.hidden = !state.methods.includes(card.dataset.name);
      const chosen = every(".card:not([hidden])", cards);
      // In the order of the address.
      chosen.sort((a, b) => state.methods.indexOf(a.dataset.name) - state.methods.indexOf(b.dataset.name));
      cards.querySelector(".side").append(...chosen);
      cards.hidden = !chosen.length;
      cards.querySelector(".other").value = chosen[1]?.dataset.name ?? "";
    }
    for (const one of ones) one.checked = !state.without.has(one.value);
    for (const set of every("fieldset")) {
      const own = every("input.one", set), on = own.filter((one) => one.checked).length;
      const family = set.querySelector(".family");
      [family.checked, family.indeterminate] = [on === own.length, on > 0 && on < own.length];
    }
    const on = ones.filter((one) => one.checked).length;
    document.querySelector(".chosen-count").textContent = on < ones.length ? `(${on} of ${ones.length})` : "";
    rankedOnly.checked = state.ranked;
    if (find.value.trim().toLowerCase() !== state.find) find.value = state.find;
    redraw();
  }

  const change = (changes) => { Object.assign(state, changes); write(); apply(); };

  // ---- tabs and controls
  for (const [n, tab] of tabs.entries()) {
    tab.addEventListener("click", () => { change({ board: tab.dataset.board, methods: [] }); scrollTo({ top: 0 }); });
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(n + step + tabs.length) % tabs.length];
      next.click();
      next.focus();
    });
  }
  find.addEventListener("input", () => change({ find: find.value.trim().toLowerCase() }));
  rankedOnly.addEventListener("change", () => change({ ranked: rankedOnly.checked }));
  document.querySelector(".all").addEventListener("click", () => change({ without: new Set(), ranked: false, find: "" }));
  document.querySelector(".none").addEventListener("click", () => change({ without: new Set(ones.map((one) => one.value)) }));
  for (const box of every("input.one, input.family")) {
    box.addEventListener("change", () => {
      const own = box.classList.contains("one") ? [box] : every("input.one", box.closest("fieldset"));
      const without = new Set(state.without);
      for (const one of own) box.checked ? without.delete(one.value) : without.add(one.value);
      change({ without });
    });
  }
  for (const select of every(".other")) {
    select.addEventListener("change", () => change({ methods: [state.methods[0], select.value].filter(Boolean) }));
  }
  for (const button of every(".uncolour")) button.addEventListener("click", () => { state.coloured = true; button.hidden = true; redraw(); });
  addEventListener("hashchange", () => {
    const before = state.methods.join();
    read();
    apply();
    if (state.methods.length && state.methods.join() !== before) every(".cards:not([hidden])")[0]?.scrollIntoView({ block: "nearest" });
  });

  // ---- rows and curves
  function emphasise(panel, name) {
    for (const row of every("tr[data-name]", panel)) row.classList.toggle("lit", row.dataset.name === name);
    for (const chart of every(".chart", panel)) charts.emphasise(chart, name);
  }
  for (const row of rows) {
    const panel = row.closest(".panel");
    if (!panel) continue;
    for (const kind of ["pointerenter", "focusin"]) row.addEventListener(kind, () => emphasise(panel, row.dataset.name));
    for (const kind of ["pointerleave", "focusout"]) row.addEventListener(kind, () => emphasise(panel, null));
  }
  charts.onHover = (chart, name) => {
    for (const row of every("tr[data-name]", chart.closest(".panel"))) row.classList.toggle("lit", row.dataset.name === name);
  };

  // ---- sorting, meanings, download
  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === "" || text === "none" ? null : text.toLowerCase();
  }
  for (const head of every("table.sortable thead th")) {
    const said = head.closest(".panel")?.querySelector(".meaning");
    const explain = () => { if (said && head.dataset.meaning) said.textContent = `${head.querySelector("button").textContent}: ${head.dataset.meaning}`; };
    for (const kind of ["pointerenter", "focusin", "click"]) head.addEventListener(kind, explain);
    head.querySelector("button").addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
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
    });
  }
  // A text that a spreadsheet would take for a formula gets an apostrophe in front.
  const quoted = (text) => `"${(/^[=+\-@\t\r]./.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text).replace(/"/g, '""')}"`;
  for (const button of every(".csv")) {
    button.addEventListener("click", () => {
      const table = button.closest(".panel").querySelector("table.sortable");
      const kept = [...table.tHead.rows[0].cells].map((cell) => cell.cellIndex).filter((n) => !table.querySelector(`tbody tr[data-name] > :nth-child(${n + 1}).strip`));
      const lines = [kept.map((n) => quoted(table.tHead.rows[0].cells[n].querySelector("button").textContent)).join(",")];
      for (const row of every("tbody tr[data-name]:not([hidden])", table)) {
        lines.push(kept.map((n) => {
          const cell = row.cells[n];
          if (cell.tagName === "TH") return quoted(row.dataset.name);
          return cell.dataset.v !== undefined && !/ to /.test(cell.textContent) ? cell.dataset.v : quoted(cell.textContent.trim());
        }).join(","));
      }
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
      link.download = `${state.board}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // ---- start
  read();
  document.documentElement.classList.add("scripted");
  apply();
  if (!(await charts.load())) return;
  for (const chart of charts.all) {
    const panel = chart.closest(".panel");
    if (charts.litAtFirst(chart).length) panel.querySelector(".uncolour").hidden = false;
  }
  const looking = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !target.dataset.drawn) charts.draw(target, choiceOf(target.closest(".panel"), target));
    }
  }, { rootMargin: "300px" });
  for (const chart of charts.all) looking.observe(chart);
  charts.dark.addEventListener("change", redraw);
})();
