// Looks numbers up, draws them, and fills command lines in. It computes nothing: all texts come from the library.
"use strict";
const {constants, families} = JSON.parse(document.getElementById("data").textContent);
const namespace = document.querySelector("svg").namespaceURI;
const find = id => document.getElementById(id);
const MARKS = [  // by mechanism: circle, square, triangle, diamond, cross
  "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "M-3 -3h6v6h-6z", "M0 -4l4 7h-8z", "M0 -4.5l4.5 4.5l-4.5 4.5l-4.5 -4.5z",
  "M-3.5 -3.5l7 7m0 -7l-7 7",
];

function element(name, attributes, parent, text) {
  const made = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

// The number that a text begins with; not one where it is infinite.
function numeral(text) {
  const found = /^[\d.,]+(e[-+]?\d+)?/.exec(text);
  return found ? Number(found[0].replaceAll(",", "")) : NaN;
}

const positions = family => family.sliders.map(slider => Number(find(`${family.key}-${slider.key}`).value));

// Row-major, the last slider fastest: as the library wrote the cells.
const place = (sizes, at) => at.reduce((sum, index, i) => sum * sizes[i] + index, 0);

function cell(family, way, at) {
  const found = family.cells[way.key][place(family.sliders.map(slider => slider.texts.length), at)];
  return typeof found === "number" ? {why: family.reasons[found]} : {texts: found};
}

function filled(template, family, way, at, texts) {
  const words = {...constants, way: way.name};
  family.sliders.forEach((slider, i) => { words[slider.key] = slider.values[at[i]]; });
  family.columns.forEach((column, i) => { words[column.key] = texts[i]; });
  for (const [key, [by, table]] of Object.entries(family.lookups)) {
    const chosen = by.map(name => family.sliders.findIndex(slider => slider.key === name));
    words[key] = table[place(chosen.map(i => family.sliders[i].texts.length), chosen.map(i => at[i]))];
  }
  return template.replace(/\{(\w+)\}/g, (whole, key) => words[key]);
}

function ticks(low, high, logarithmic) {
  const found = [];
  if (logarithmic) {
    const factors = high / low > 2000 ? [1] : [1, 2, 5];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
      for (const factor of factors) found.push(factor * 10 ** power);
  } else {
    const rough = (high - low) / 5, size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find(factor => factor * size >= rough) * size;
    for (let i = Math.ceil(low / step); i * step <= high * (1 + 1e-9); i++) found.push(i * step);
  }
  return found.filter(at => at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9)).map(at => Number(at.toPrecision(6)));
}

function scale(values, begin, end, logarithmic) {
  let low = logarithmic ? Math.min(...values) : 0, high = Math.max(...values);
  if (logarithmic) { low /= 1.15; high *= 1.15; } else high = high * 1.05 || 1;
  const map = logarithmic ? Math.log : value => value;
  const span = map(high) - map(low);
  return {low, high, logarithmic, to: value => begin + (map(value) - map(low)) / span * (end - begin)};
}

function draw(family, at, chosen) {
  const svg = find(`${family.key}-chart`).querySelector("svg");
  const column = key => family.columns.findIndex(each => each.key === key);
  const x = column(family.x), y = column(family.y), last = family.sliders.length - 1;
  const curves = family.ways.map(way => family.sliders[last].texts.map((_, stop) => {
    const {texts} = cell(family, way, [...at.slice(0, last), stop]);
    return texts ? {x: numeral(texts[x]), y: numeral(texts[y]), now: stop === at[last], text: texts[y]} : {};
  }).filter(point => point.x > 0 && point.y > 0 && Number.isFinite(point.x) && Number.isFinite(point.y)));
  const points = curves.flat();
  svg.replaceChildren();
  const width = Math.max(280, svg.parentElement.clientWidth || 640), height = Math.round(Math.min(400, Math.max(260, width * 0.55)));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const left = 52, right = width - 12, top = 26, bottom = height - 42;
  if (!points.length) { svg.setAttribute("aria-label", "No mechanism has numbers at this setting."); return; }
  const across = scale(points.map(point => point.x), left, right, family.across);
  const up = scale(points.map(point => point.y), bottom, top, family.up);
  const guides = element("g", {}, svg);
  for (const tick of ticks(across.low, across.high, family.across)) {
    element("line", {class: "grid", x1: across.to(tick), x2: across.to(tick), y1: top, y2: bottom}, guides);
    element("text", {x: across.to(tick), y: bottom + 16, "text-anchor": "middle"}, guides, String(tick));
  }
  for (const tick of ticks(up.low, up.high, family.up)) {
    element("line", {class: "grid", x1: left, x2: right, y1: up.to(tick), y2: up.to(tick)}, guides);
    element("text", {x: left - 8, y: up.to(tick) + 4, "text-anchor": "end"}, guides, tick.toLocaleString("en-GB", {maximumFractionDigits: 6}));
  }
  element("path", {class: "axis", fill: "none", d: `M${left} ${top}V${bottom}H${right}`}, guides);
  element("text", {class: "title", x: (left + right) / 2, y: height - 6, "text-anchor": "middle"}, guides, family.columns[x].label);
  element("text", {class: "title", x: 4, y: 14}, guides, family.columns[y].label);
  const asked = family.across_values[at[last]];
  if (asked >= across.low && asked <= across.high)
    element("line", {class: "here", x1: across.to(asked), x2: across.to(asked), y1: top, y2: bottom}, guides);
  curves.forEach((curve, i) => {
    const group = element("g", {class: `s${i}`, "data-way": family.ways[i].key}, svg);
    const path = curve.map((point, k) => `${k ? "L" : "M"}${across.to(point.x).toFixed(2)} ${up.to(point.y).toFixed(2)}`);
    const emphasis = family.ways[i] === chosen ? " chosen" : "";
    if (curve.length) element("path", {class: `curve${emphasis}`, d: path.join("")}, group);
    for (const point of curve) {
      const where = `translate(${across.to(point.x).toFixed(2)} ${up.to(point.y).toFixed(2)})${point.now ? " scale(1.5)" : ""}`;
      element("path", {class: point.now ? "mark now" : "mark", d: MARKS[i], transform: where}, group);
    }
  });
  const now = curves.map((curve, i) => [family.ways[i].name, curve.find(point => point.now)]).filter(([, point]) => point);
  svg.setAttribute("aria-label",
    `${family.columns[y].label} against ${family.columns[x].label}, a curve for each mechanism. At this setting: `
    + `${now.map(([name, point]) => `${name} ${point.text}`).join("; ") || "none has numbers"}.`);
}

function show(family) {
  const at = positions(family);
  const chosen = family.ways.find(way => way.key === document.querySelector(`input[name="${family.key}-way"]:checked`).value);
  family.sliders.forEach((slider, i) => {
    const input = find(`${family.key}-${slider.key}`);
    input.setAttribute("aria-valuetext", slider.texts[at[i]]);
    find(`${input.id}-shown`).textContent = slider.texts[at[i]];
  });
  family.ways.forEach((way, i) => {
    const row = find(`${family.key}-rows`).children[i], {texts, why} = cell(family, way, at);
    row.className = way === chosen ? "chosen" : "";
    [...row.querySelectorAll("td")].forEach(old => old.remove());
    if (why !== undefined) {
      const data = row.insertCell();
      data.colSpan = family.columns.length;
      data.className = "why";
      data.textContent = why;
      return;
    }
    texts.forEach((text, k) => {
      const data = row.insertCell();
      data.dataset.column = family.columns[k].key;
      data.textContent = text;
    });
  });
  const {texts, why} = cell(family, chosen, at), possible = why === undefined && chosen.command !== "";
  find(`${family.key}-sentence`).textContent = why === undefined ? filled(family.sentence, family, chosen, at, texts) : `${chosen.name}: ${why}.`;
  find(`${family.key}-command`).textContent = possible ? filled(chosen.command, family, chosen, at, texts) : "# none";
  find(`${family.key}-copy`).disabled = !possible;
  find(`${family.key}-copied`).textContent = "";
  draw(family, at, chosen);
}

async function copy(family) {
  const code = find(`${family.key}-command`);
  const done = () => { find(`${family.key}-copied`).textContent = "Copied."; };
  try {
    await navigator.clipboard.writeText(code.textContent);
    done();
  } catch {  // not allowed here: select it, for the person to copy
    getSelection().selectAllChildren(code);
    if (document.execCommand("copy")) done();
    else find(`${family.key}-copied`).textContent = "Selected: copy it with Ctrl+C.";
  }
}

for (const family of families) {
  family.ways.forEach((_, i) => {
    const swatch = find(`${family.key}-rows`).children[i].querySelector(".swatch");
    element("path", {class: "curve", d: "M0 6H28"}, swatch);
    element("path", {class: "mark", d: MARKS[i], transform: "translate(14 6)"}, swatch);
  });
  find(family.key).addEventListener("input", () => show(family));
  find(`${family.key}-copy`).addEventListener("click", () => copy(family));
  new ResizeObserver(() => show(family)).observe(find(`${family.key}-chart`));
  show(family);
}
function turn() {
  const name = document.querySelector('input[name="family"]:checked').value;
  for (const family of families) find(family.key).hidden = family.key !== name;
}
for (const input of document.querySelectorAll('input[name="family"]')) input.addEventListener("change", turn);
turn();
