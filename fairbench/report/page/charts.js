"use strict";
// Draws the charts of a board: window.charts has what board.js asks of them.
window.charts = (() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Plotly reads a little HTML in labels: what plugins and data say must stay text.
  const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const dark = matchMedia("screen and (prefers-color-scheme: dark)");
  const visible = (curve) => (dark.matches ? curve.dark : curve.colour);
  const faint = (colour) => `rgba(${[1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)).join(",")},0.14)`;
  const shortened = (name) => (name.length > 30 ? name.slice(0, 29) + "…" : name);
  const all = [...document.querySelectorAll(".chart")];
  let data = null;

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  // Without bold: plotly would set it as a style, which the policy forbids.
  function hover(curve) {
    return curve.knob.map((knob, n) => {
      const lines = [plain(curve.name), plain(knob), `D ${curve.d[n]}, I ${curve.i[n]} nats`];
      const bound = curve.bound[n];
      if (bound !== null) lines.push(bound === "vacuous" ? "certificate vacuous" : `I certified at most ${bound} nats`);
      lines.push(`A_y ${curve.a_y[n] ?? "-"}, A_s ${curve.a_s[n]}`, plain(curve.curve[n]));
      return lines.join("<br>");
    });
  }

  // shown(name): whether a curve is drawn; lit(name): whether in colour, or grey behind the others.
  function traces(panel, kind, shown, lit) {
    const [x, y, line] = kind === "curves" ? ["d", "i", "hull"] : ["a_s", "a_y", "front"];
    const bands = [], lines = [], marks = [];
    const curves = panel.curves.filter((curve) => shown(curve.name));
    for (const curve of [...curves.filter((c) => !lit(c.name)), ...curves.filter((c) => lit(c.name))]) {
      const own = lit(curve.name);
      const colour = own ? visible(curve) : css("--faint");
      const many = new Set(curve.curve).size > 3;
      const common = { legendgroup: curve.name, hoverinfo: "skip", showlegend: false, mode: "lines" };
      const [across, up] = curve[line + "_band"];
      if (across.length && own) bands.push({ ...common, x: across, y: up, fill: "toself", fillcolor: faint(visible(curve)), line: { width: 0 } });
      if (curve[line][0].length) {
        const shape = kind === "fronts" ? "hv" : "linear";
        lines.push({ ...common, meta: [colour, visible(curve)], x: curve[line][0], y: curve[line][1], line: { color: colour, width: own ? 1.5 : 1, dash: curve.dash, shape } });
      }
      if (own) marks.push({
        x: curve[x], y: kind === "curves" ? curve[y].map((v) => Math.max(v, 0)) : curve[y], mode: "markers",
        name: plain(shortened(curve.name)) + (curve.whole ? "" : " (incomplete)"), legendgroup: curve.name,
        text: hover(curve), hovertemplate: "%{text}<extra></extra>",
        marker: { color: colour, symbol: curve.symbol + (curve.whole ? "" : "-open"), ...(many ? { size: 5, opacity: 0.55 } : { size: 7, opacity: 0.85 }) },
      });
    }
    const found = [...bands, ...lines, ...marks];
    if (kind === "curves" && panel.ends) {
      found.push({
        x: [0, panel.ends[0]], y: [panel.ends[1], 0], mode: "lines", name: "x for some, nothing for others", hoverinfo: "skip",
        line: { color: css("--quiet"), width: 1, dash: "dot" },
      });
    }
    return found;
  }

  // Plotly lets a legend of many lines grow into the plot: it gets the room it will need.
  function legendHeight(names, width) {
    const room = width - 80;
    let lines = 1, used = 0;
    for (const name of names) {
      const own = 45 + 7 * name.length;
      if (used && used + own > room) [lines, used] = [lines + 1, 0];
      used += own;
    }
    return 30 * lines;
  }

  function layout(kind, legend, width) {
    const axis = (title) => ({ title: { text: title }, gridcolor: css("--line"), zerolinecolor: css("--line"), automargin: true });
    const [x, y] = kind === "curves" ? ["D, distortion: squared error of x", "I(Z;S), leakage, nats"] : ["A_s, accuracy of the auditor of s", "A_y, downstream accuracy"];
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: css("--text"), size: 12 },
      margin: { l: 55, r: 10, t: 10, b: 50 + legend }, xaxis: axis(x), yaxis: axis(y), hovermode: "closest",
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom", itemsizing: "constant" }, showlegend: legend > 0, height: 360 + legend, width, hoverlabel: { align: "left", bgcolor: css("--ground"), font: { color: css("--text") } },
    };
  }

  const panelOf = (chart) => {
    const article = chart.closest(".panel");
    return data[article.dataset.dataset][article.dataset.panel];
  };

  // On paper a chart is as wide as a page with margins.
  function draw(chart, choice, { paper = false } = {}) {
    if (!data) return;
    const kind = chart.dataset.kind, width = paper ? 640 : undefined;
    const found = traces(panelOf(chart), kind, choice.shown, choice.lit);
    const legend = kind === "fronts" ? 0 : legendHeight(found.filter((trace) => trace.name).map((trace) => trace.name), width ?? chart.clientWidth);
    // Without a mode bar: its buttons would stand in the way of the keyboard.
    Plotly.react(chart, found, layout(kind, legend, width), { responsive: true, displayModeBar: false });
    if (!chart.dataset.drawn) {
      chart.on("plotly_hover", (event) => api.onHover(chart, event.points[0].data.legendgroup));
      chart.on("plotly_unhover", () => api.onHover(chart, null));
    }
    chart.dataset.drawn = "yes";
  }

  // One curve stands out for a moment, in its colour where it was grey; null: none does.
  function emphasise(chart, name) {
    if (!chart.dataset.drawn) return;
    Plotly.restyle(chart, { opacity: chart.data.map((trace) => (name === null || trace.legendgroup === name ? 1 : 0.12)) });
    const lines = [...chart.data.keys()].filter((n) => chart.data[n].meta);
    const colours = lines.map((n) => chart.data[n].meta[chart.data[n].legendgroup === name ? 1 : 0]);
    if (lines.length) Plotly.restyle(chart, { "line.color": colours }, lines);
  }

  async function load() {
    if (!window.DecompressionStream) {
      for (const chart of all) chart.textContent = "The charts need a browser of 2023 or later; the tables do not.";
      return false;
    }
    const library = document.createElement("script");
    library.textContent = await unpacked("plotly");
    document.head.append(library);
    data = JSON.parse(await unpacked("charts"));
    return true;
  }

  const api = { all, dark, draw, emphasise, load, litAtFirst: (chart) => panelOf(chart).lit, onHover: () => {} };
  return api;
})();
