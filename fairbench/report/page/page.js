"use strict";
(async () => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Plotly reads a little HTML in labels: what plugins and data say must stay text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const channels = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  // Colours are made for white paper: in the dark they are mixed with white, and black is the text's.
  const visible = (colour) => {
    if (!dark.matches) return colour;
    if (colour === "#000000") return css("--text");
    return "#" + channels(colour).map((c) => Math.round(c + 0.3 * (255 - c)).toString(16).padStart(2, "0")).join("");
  };
  const faint = (colour) => `rgba(${channels(colour).join(",")},0.14)`;

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  function hover(curve) {
    return curve.knob.map((knob, n) => {
      const lines = [`<b>${plain(curve.name)}</b>`, plain(knob), `D ${curve.d[n]}, I ${curve.i[n]} nats`];
      const bound = curve.bound[n];
      if (bound !== null) lines.push(bound === "vacuous" ? "certificate vacuous" : `I certified at most ${bound} nats`);
      lines.push(`A_y ${curve.a_y[n] ?? "-"}, A_s ${curve.a_s[n]}`, plain(curve.curve[n]));
      return lines.join("<br>");
    });
  }

  function traces(panel, kind, wanted) {
    const [x, y, line] = kind === "curves" ? ["d", "i", "hull"] : ["a_s", "a_y", "front"];
    const bands = [], lines = [], marks = [];
    for (const curve of panel.curves) {
      if (!curve.name.toLowerCase().includes(wanted)) continue;
      const colour = visible(curve.colour);
      const many = new Set(curve.curve).size > 3;
      const common = { legendgroup: curve.name, hoverinfo: "skip", showlegend: false, mode: "lines" };
      const [across, up] = curve[line + "_band"];
      if (across.length) bands.push({ ...common, x: across, y: up, fill: "toself", fillcolor: faint(visible(curve.colour)), line: { width: 0 } });
      if (curve[line][0].length) {
        const shape = kind === "fronts" ? "hv" : "linear";
        lines.push({ ...common, x: curve[line][0], y: curve[line][1], line: { color: colour, width: 1.5, dash: curve.dash, shape } });
      }
      marks.push({
        x: curve[x], y: kind === "curves" ? curve[y].map((v) => Math.max(v, 0)) : curve[y], mode: "markers",
        name: plain(shortened(curve.name)) + (curve.whole ? "" : " (incomplete)"), legendgroup: curve.name,
        text: hover(curve), hovertemplate: "%{text}<extra></extra>",
        marker: { color: colour, symbol: curve.symbol + (curve.whole ? "" : "-open"), ...(many ? { size: 5, opacity: 0.55 } : { size: 7, opacity: 0.85 }) },
      });
    }
    const found = [...bands, ...lines, ...marks];
    if (kind === "curves" && panel.ends) {
      found.push({
        x: [0, panel.ends[0]], y: [panel.ends[1], 0], mode: "lines", name: "release x to some", hoverinfo: "skip",
        line: { color: css("--quiet"), width: 1, dash: "dot" },
      });
    }
    return found;
  }

  const shortened = (name) => (name.length > 30 ? name.slice(0, 29) + "…" : name);

  // Plotly lets a legend of many lines grow into the plot: it gets the room it will need.
  function legendHeight(chart, names) {
    const room = chart.clientWidth - 80;
    let lines = 1, used = 0;
    for (const name of names) {
      const width = 45 + 7 * name.length;
      if (used && used + width > room) [lines, used] = [lines + 1, 0];
      used += width;
    }
    return 30 * lines;
  }

  function layout(kind, legend) {
    const axis = (title) => ({ title: { text: title }, gridcolor: css("--line"), zerolinecolor: css("--line"), automargin: true });
    const [x, y] = kind === "curves" ? ["D, distortion: squared error of x", "I(Z;S), leakage, nats"] : ["A_s, accuracy of the auditor of s", "A_y, downstream accuracy"];
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--text"), size: 12 },
      margin: { l: 55, r: 10, t: 10, b: 50 + legend }, xaxis: axis(x), yaxis: axis(y), hovermode: "closest",
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" }, height: 410 + legend, modebar: { bgcolor: "rgba(0,0,0,0)", color: css("--line"), activecolor: css("--quiet") },
      hoverlabel: { align: "left" },
    };
  }

  function draw(chart) {
    if (!data) return;
    const article = chart.closest(".panel");
    const panel = data[article.dataset.dataset][article.dataset.panel];
    const wanted = article.querySelector(".filter input").value.trim().toLowerCase();
    const kind = chart.dataset.kind;
    const found = traces(panel, kind, wanted);
    const legend = legendHeight(chart, found.filter((trace) => trace.name).map((trace) => trace.name));
    Plotly.react(chart, found, layout(kind, legend), { responsive: true, displaylogo: false });
    chart.dataset.drawn = "yes";
  }

  const charts = [...document.querySelectorAll(".chart")];
  let data = null;
  for (const article of document.querySelectorAll(".panel")) {
    article.querySelector(".filter input").addEventListener("input", (event) => {
      const wanted = event.target.value.trim().toLowerCase();
      for (const row of article.querySelectorAll("tbody tr[data-name]")) row.hidden = !row.dataset.name.toLowerCase().includes(wanted);
      article.querySelectorAll(".chart").forEach((chart) => chart.dataset.drawn && draw(chart));
    });
  }

  function value(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
    const text = cell.textContent.trim();
    return text === "" ? null : text.toLowerCase();
  }

  for (const head of document.querySelectorAll("table.sortable thead th")) {
    head.querySelector("button").addEventListener("click", () => {
      const falling = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      for (const body of head.closest("table").tBodies) { // ranked rows stay above the others
        const rows = [...body.rows].filter((row) => !row.classList.contains("block"));
        rows.sort((a, b) => {
          const [u, v] = [value(a, head.cellIndex), value(b, head.cellIndex)];
          if (u === null || v === null) return (u === null) - (v === null); // empty cells last, either way
          const order = u < v ? -1 : u > v ? 1 : 0;
          return falling ? -order : order;
        });
        body.append(...rows);
      }
    });
  }

  if (!window.DecompressionStream) {
    for (const chart of charts) chart.textContent = "The charts need a browser of 2023 or later; the tables do not.";
    return;
  }
  const library = document.createElement("script");
  library.textContent = await unpacked("plotly");
  document.head.append(library);
  data = JSON.parse(await unpacked("charts"));
  const redraw = () => charts.filter((chart) => chart.dataset.drawn).forEach(draw);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: "300px" });
  charts.forEach((chart) => seen.observe(chart));
  dark.addEventListener("change", redraw);
})();
