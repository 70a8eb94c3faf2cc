"use strict";
// What is seen, kept in the address: #BOARD/ROW/OTHER?without=a,b&ranked&track=blind&find=text&columns=all
window.choice = (() => {
  const boards = [...document.querySelectorAll('[role="tab"]')].map((tab) => tab.dataset.board);
  const state = { board: boards[0], methods: [], find: "", without: new Set(), ranked: false, track: "", wide: false };

  // A "%" that somebody typed is a "%".
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  // The row of a name, or of a method alone, which may have several: that of its defaults, or its best.
  function rowOf(board, name) {
    const own = [...document.querySelectorAll(".ranking li")].filter((row) => row.closest(".board").dataset.board === board);
    const named = (text) => own.find((row) => row.dataset.name === text);
    return (named(name) ?? named(`${name} (default)`) ?? own.find((row) => row.dataset.method === name))?.dataset.name;
  }

  // False where the address names a place of the page, such as #glossary, and no board.
  function read() {
    const [path, query = ""] = location.hash.slice(1).split("?");
    const [board, ...methods] = path.split("/").map(decoded);
    if (path && !boards.includes(board)) return false;
    const given = new URLSearchParams(query);
    state.board = path ? board : boards[0];
    state.methods = [...new Set(methods.map((name) => rowOf(state.board, name)))].filter(Boolean).slice(0, 2);
    state.find = (given.get("find") ?? "").toLowerCase();
    state.ranked = given.has("ranked");
    state.track = given.get("track") ?? "";
    state.wide = given.get("columns") === "all";
    state.without = new Set((given.get("without") ?? "").split(",").filter(Boolean).map(decoded));
    return true;
  }

  function address() {
    const query = new URLSearchParams();
    // Names from plugins may have commas.
    if (state.without.size) query.set("without", [...state.without].map(encodeURIComponent).join(","));
    if (state.ranked) query.set("ranked", "");
    if (state.track) query.set("track", state.track);
    if (state.find) query.set("find", state.find);
    if (state.wide) query.set("columns", "all");
    const path = [state.board, ...state.methods].map(encodeURIComponent).join("/");
    return `#${path}${query.size ? `?${query}` : ""}`;
  }

  // Another board or method is a page of its own, to which the back button returns.
  function change(changes) {
    const page = () => [state.board, ...state.methods].join("/");
    const before = page();
    Object.assign(state, changes);
    history[page() === before ? "replaceState" : "pushState"](null, "", address());
  }

  const seen = (row) =>
    row.dataset.name.toLowerCase().includes(state.find) &&
    !state.without.has(row.dataset.method) &&
    (!state.ranked || row.dataset.ranked === "yes") &&
    (!state.track || !row.dataset.track || row.dataset.track === state.track);

  // Whether rows are left out by what they are called or have.
  const isChosen = () => state.find !== "" || state.without.size > 0 || state.ranked;

  return { state, boards, read, change, seen, isChosen };
})();
