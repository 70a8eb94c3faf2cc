"use strict";
// Shows what choice.js says: tabs, rows, views of methods, charts; and what is pointed at.
(async () => {
  const every = (selector, within = document) => [...within.querySelectorAll(selector)];
  const { state, seen } = choice;
  const tabs = every('[role="tab"]'), panels = every(".panel[data-dataset]"), ones = every("input.one");
  const rows = every("tr[data-name], li[data-name]");
  const find = document.querySelector(".find"), rankedOnly = document.querySelector(".ranked-only");
  const track = document.querySelector(".track"); // null where there is one
  let coloured = false; // all curves, also where there are many
  const mostLit = Number(document.querySelector("#main").dataset.mostLit); // curves that can be told apart

  // What is scrolled to, and what stays in sight, stands below the bar, however many lines it has.
  const bar = document.querySelector(".bar");
  const measureBar = () => document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
  new ResizeObserver(measureBar).observe(bar);

  // ---- what is seen
  function choiceOf(panel, chart) {
    const own = every(".ranking li", panel);
    const viewed = state.methods.filter((name) => own.some((row) => row.dataset.name === name));
    const shown = new Set([...own.filter(seen).map((row) => row.dataset.name), ...viewed]);
    // Where a choice leaves few, all of them are coloured.
    const few = choice.isChosen() && shown.size <= mostLit;
    const lit = new Set(viewed.length ? viewed : coloured || few ? [] : charts.litAtFirst(chart));
    return { shown: (name) => shown.has(name), lit: (name) => !lit.size || lit.has(name) };
  }

  // A chart of a hidden board has no width: it is drawn again when its board is shown.
  function redraw() {
    for (const chart of charts.all) if (chart.dataset.drawn && chart.checkVisibility()) charts.draw(chart, choiceOf(chart.closest(".panel"), chart));
  }

  function applyTo(panel) {
    panel.hidden = state.track !== "" && panel.dataset.track !== state.track;
    const own = every(".ranking li", panel), left = own.filter(seen).length;
    const ranks = own.some((row) => row.dataset.ranked === "yes") ? " Ranks are those of the whole board." : "";
    panel.querySelector(".seen").textContent = left < own.length ? `${left} of ${own.length} rows are shown.${ranks}` : "";
    const cards = panel.querySelector(".cards");
    for (const card of every(".card", cards)) card.hidden = !state.methods.includes(card.dataset.name);
    const chosen = every(".card:not([hidden])", cards);
    // In the order of the address.
    chosen.sort((a, b) => state.methods.indexOf(a.dataset.name) - state.methods.indexOf(b.dataset.name));
    cards.querySelector(".side").append(...chosen);
    cards.hidden = !chosen.length;
    panel.classList.toggle("viewing", !cards.hidden);
    cards.querySelector(".other").value = chosen[1]?.dataset.name ?? "";
  }

  function apply() {
    document.documentElement.classList.toggle("all-columns", state.wide);
    for (const board of every(".board")) board.hidden = board.dataset.board !== state.board;
    for (const tab of tabs) {
      const own = tab.dataset.board === state.board;
      tab.setAttribute("aria-selected", own);
      tab.tabIndex = own ? 0 : -1;
    }
    for (const row of rows) row.hidden = !seen(row);
    for (const panel of panels) applyTo(panel);
    for (const note of every(".no-track")) note.hidden = every(".panel", note.parentElement).some((panel) => !panel.hidden);
    for (const one of ones) one.checked = !state.without.has(one.value);
    for (const set of every("fieldset")) {
      const own = every("input.one", set), on = own.filter((one) => one.checked).length;
      const family = set.querySelector(".family");
      [family.checked, family.indeterminate] = [on === own.length, on > 0 && on < own.length];
    }
    const on = ones.filter((one) => one.checked).length;
    document.querySelector(".chosen-count").textContent = on < ones.length ? `(${on} of ${ones.length})` : "";
    for (const box of every(".wide")) box.checked = state.wide;
    rankedOnly.checked = state.ranked;
    if (track) track.value = state.track;
    if (find.value.trim().toLowerCase() !== state.find) find.value = state.find;
    redraw();
  }

  const change = (changes) => { choice.change(changes); apply(); };

  function showView() {
    const view = every(".board:not([hidden]) .cards:not([hidden])")[0];
    if (!view) return;
    const { top, bottom } = view.getBoundingClientRect();
    // A view may be taller than the screen: its beginning counts.
    if (top < bar.offsetHeight || bottom > innerHeight) view.scrollIntoView();
    view.querySelector(".card:not([hidden]) h4").focus({ preventScroll: true });
  }

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
  track?.addEventListener("change", () => change({ track: track.value }));
  document.querySelector(".all").addEventListener("click", () => change({ without: new Set(), ranked: false, track: "", find: "" }));
  document.querySelector(".none").addEventListener("click", () => change({ without: new Set(ones.map((one) => one.value)) }));
  for (const box of every("input.one, input.family")) {
    box.addEventListener("change", () => {
      const own = box.classList.contains("one") ? [box] : every("input.one", box.closest("fieldset"));
      const without = new Set(state.without);
      for (const one of own) box.checked ? without.delete(one.value) : without.add(one.value);
      change({ without });
    });
  }
  for (const box of every(".wide")) box.addEventListener("change", () => change({ wide: box.checked }));
  for (const select of every(".other")) {
    select.addEventListener("change", () => change({ methods: [state.methods[0], select.value].filter(Boolean) }));
  }
  for (const button of every(".uncolour")) {
    button.addEventListener("click", () => { coloured = true; for (const one of every(".uncolour")) one.hidden = true; redraw(); });
  }

  // The keyboard goes on at the row that it came from.
  function close(panel, byKey) {
    const row = every(".ranking li", panel).find((one) => one.dataset.name === state.methods[0]);
    change({ methods: [] });
    if (byKey) row?.querySelector("a").focus();
  }

  // Links to methods keep the choice, which their plain addresses do not have.
  for (const link of every("a.name, a.close")) {
    link.addEventListener("click", (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (link.classList.contains("close")) close(link.closest(".panel"), event.detail === 0);
      else {
        change({ methods: [link.closest("[data-name]").dataset.name] });
        showView();
      }
    });
  }
  const openPlace = () => document.getElementById(location.hash.slice(1))?.querySelector(":scope > details")?.setAttribute("open", "");
  addEventListener("hashchange", () => {
    if (choice.read()) {
      apply();
      showView();
    } else openPlace();
  });
  // The address stays that of the choice.
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    const main = document.querySelector("#main");
    main.tabIndex = -1;
    main.focus();
  });

  // ---- rows and curves
  function light(panel, name) {
    for (const row of every("tr[data-name], li[data-name]", panel)) row.classList.toggle("lit", row.dataset.name === name);
  }
  for (const row of rows) {
    const panel = row.closest(".panel");
    if (!panel) continue;
    const point = (name) => { light(panel, name); for (const chart of every(".chart", panel)) charts.emphasise(chart, name); };
    for (const kind of ["pointerenter", "focusin"]) row.addEventListener(kind, () => point(row.dataset.name));
    for (const kind of ["pointerleave", "focusout"]) row.addEventListener(kind, () => point(null));
  }
  charts.onHover = (chart, name) => light(chart.closest(".panel"), name);

  // ---- paper: everything is open, on white, and as wide as a page
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = every("details:not([open])");
    for (const one of [...closed, ...every(".board")]) [one.open, one.hidden] = [true, false];
    for (const chart of charts.all) charts.draw(chart, choiceOf(chart.closest(".panel"), chart), { paper: true });
  });
  addEventListener("afterprint", () => {
    for (const one of closed) one.open = false;
    apply();
  });

  // ---- start
  if (!choice.read()) openPlace();
  document.documentElement.classList.add("scripted");
  measureBar();
  apply();
  showView();
  if (!(await charts.load())) return;
  for (const panel of panels) panel.querySelector(".uncolour").hidden = !charts.litAtFirst(panel.querySelector(".chart")).length;
  const looking = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting && !target.dataset.drawn) charts.draw(target, choiceOf(target.closest(".panel"), target));
    }
  }, { rootMargin: "300px" });
  for (const chart of charts.all) looking.observe(chart);
  charts.dark.addEventListener("change", redraw);
})();
