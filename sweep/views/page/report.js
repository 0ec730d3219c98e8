"use strict";
// What is drawn: variable `of` over dimensions `x` and `y`, all other dimensions at a position.
const page = JSON.parse(document.getElementById("page").textContent);
const dims = new Map(page.dims.map((dim) => [dim.name, dim]));
const variables = new Map(page.variables.map((variable) => [variable.name, variable]));
const state = { of: page.variables[0].name, x: null, y: null, flat: false, at: Object.fromEntries(page.dims.map((dim) => [dim.name, 0])) };
const margin = { left: 120, right: 30, top: 6, bottom: 62 };
const element = (id) => document.getElementById(id);
const own = (name) => variables.get(page.own + name);
const PARAMETER = page.own + "parameter";
const NONE = "-";

// The numbers.

async function unpack() {
  const packed = Uint8Array.from(atob(element("data").textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const kinds = { f4: Float32Array, f8: Float64Array, i1: Int8Array, i2: Int16Array };
  for (const variable of page.variables) {
    const sizes = variable.dims.map((name) => dims.get(name).names.length);
    const size = sizes.reduce((product, each) => product * each, 1);
    variable.values = new kinds[variable.kind](buffer, variable.offset, size);
    variable.strides = sizes.map((_, place) => sizes.slice(place + 1).reduce((product, each) => product * each, 1));
  }
}

function valueAt(variable, position) {
  let index = 0;
  variable.dims.forEach((name, place) => { index += variable.strides[place] * position[name]; });
  return variable.values[index];
}

function isMissing(variable, value) {
  return variable.labels ? value >= variable.labels.length || value < 0 : !Number.isFinite(value);
}

function whyMissing(variable, position) {
  const status = variables.get(variable.status);
  const known = status && status.dims.every((name) => name in position);
  const label = known ? status.labels[valueAt(status, position)] : undefined;
  return label && label !== "ok" ? label : variable.none;
}

function numberText(value) {
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(5).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(6)));
}

function textAt(variable, position, unit = variable.unit) {
  const value = valueAt(variable, position);
  if (isMissing(variable, value)) return whyMissing(variable, position);
  if (variable.labels) return variable.labels[value];
  return numberText(value) + (unit === "1" ? "" : " " + unit);
}

// Colours: one scale for a variable, wherever the sliders stand.

function scaleOf(variable) {
  if (variable.scale) return variable.scale;
  let low = Infinity, high = -Infinity;
  for (const value of variable.values) if (!isMissing(variable, value)) { low = Math.min(low, value); high = Math.max(high, value); }
  const isLog = low > 0 && high > 100 * low;
  const place = (value) => (high === low ? 0.5 : isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
  variable.scale = { low, high, isLog, place };
  return variable.scale;
}

function colourOf(variable, value, position) {
  if (!variable.labels) {
    const place = scaleOf(variable).place(value);
    return page.numbers[Math.round(place * (page.numbers.length - 1))];
  }
  const colour = colourOfLabel(variable, value);
  return variable === own("winner") ? mixed(colour, strength(position)) : colour;
}

// Labels have the colours of their codes; if there are more than colours, those that occur have the first ones.
function colourOfLabel(variable, code) {
  if (!variable.ranks) {
    const all = variable.labels.map((_, place) => place);
    const present = new Set(variable.values);
    variable.ranks = all.length <= page.palette.length ? all : all.filter((each) => present.has(each));
  }
  return page.palette[variable.ranks.indexOf(code) % page.palette.length];
}

function strength(position) {
  const value = valueAt(own("margin"), position);
  const share = Number.isFinite(value) ? Math.min(value / page.full_margin, 1) : valueAt(own("tied"), position) > 1 ? 0 : 1;
  return 0.25 + 0.75 * share;
}

function mixed(colour, share) {
  const parts = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return "rgb(" + parts.map((part) => Math.round(part * share + 255 * (1 - share))).join(",") + ")";
}

// The map.

function settle() {
  const variable = variables.get(state.of);
  const free = [...variable.dims];
  if (!free.includes(state.x)) state.x = null;
  if (!free.includes(state.y) || state.y === state.x) state.y = state.flat ? NONE : null;
  const rest = free.filter((name) => name !== state.x && name !== state.y);
  if (state.x === null) state.x = rest.pop() ?? NONE;
  if (state.y === null) state.y = rest.pop() ?? NONE;
}

function size(name) { return name === NONE ? 1 : dims.get(name).names.length; }

function positionOf(column, row) {
  const position = { ...state.at };
  if (state.x !== NONE) position[state.x] = column;
  if (state.y !== NONE) position[state.y] = row;
  return position;
}

function draw() {
  const variable = variables.get(state.of);
  const columns = size(state.x), rows = size(state.y);
  const canvas = element("map");
  const width = canvas.parentElement.clientWidth;
  const height = Math.min(Math.max(rows * 26, 120), 460) + margin.top + margin.bottom;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = height + "px";
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const box = { left: margin.left, top: margin.top, width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  canvas.box = box;
  const edgeX = (column) => box.left + Math.round((box.width * column) / columns);
  const edgeY = (row) => box.top + box.height - Math.round((box.height * row) / rows);
  const reasons = new Set(), seen = new Set();
  hatch(pen, box);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const position = positionOf(column, row);
      const value = valueAt(variable, position);
      if (isMissing(variable, value)) { reasons.add(whyMissing(variable, position)); continue; }
      seen.add(value);
      pen.fillStyle = colourOf(variable, value, position);
      pen.fillRect(edgeX(column), edgeY(row + 1), edgeX(column + 1) - edgeX(column), edgeY(row) - edgeY(row + 1));
    }
  }
  pen.strokeStyle = "#111";
  pen.strokeRect(box.left, box.top, box.width, box.height);
  ticks(pen, box, columns, rows);
  mark(pen, edgeX, edgeY);
  legend(variable, seen, reasons);
  element("heading").textContent = variable.label + (variable.unit === "1" ? "" : ` (${variable.unit})`);
  canvas.setAttribute("aria-label", `${variable.label} over ${state.x} and ${state.y}`);
  numbers(variable, columns, rows);
}

function hatch(pen, box) {
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top, box.width, box.height);
  pen.clip();
  pen.strokeStyle = "#999";
  pen.beginPath();
  for (let start = -box.height; start < box.width; start += 7) {
    pen.moveTo(box.left + start, box.top + box.height);
    pen.lineTo(box.left + start + box.height, box.top);
  }
  pen.stroke();
  pen.restore();
}

function ticks(pen, box, columns, rows) {
  pen.fillStyle = "#111";
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "top";
  if (state.x !== NONE) {
    const dim = dims.get(state.x);
    for (const spot of dim.ticks) {
      const x = box.left + (box.width * (spot + 0.5)) / columns;
      pen.fillRect(x, box.top + box.height, 1, 5);
      pen.fillText(dim.names[spot], x, box.top + box.height + 8);
    }
    pen.fillText(dim.label, box.left + box.width / 2, box.top + box.height + 34);
  }
  if (state.y === NONE) return;
  const dim = dims.get(state.y);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const spot of dim.ticks) {
    const y = box.top + box.height - (box.height * (spot + 0.5)) / rows;
    pen.fillRect(box.left - 5, y, 5, 1);
    pen.fillText(cut(pen, dim.names[spot], margin.left - 30), box.left - 8, y);
  }
  pen.save();
  pen.translate(11, box.top + box.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.textAlign = "center";
  pen.fillText(dim.label, 0, 0);
  pen.restore();
}

function cut(pen, text, width) {
  let short = text;
  while (pen.measureText(short).width > width && short.length > 2) short = short.slice(0, -2) + "…";
  return short;
}

function mark(pen, edgeX, edgeY) {
  const column = state.x === NONE ? 0 : state.at[state.x], row = state.y === NONE ? 0 : state.at[state.y];
  for (const [colour, grow] of [["#fff", 1], ["#111", 0]]) {
    pen.strokeStyle = colour;
    pen.strokeRect(edgeX(column) - grow, edgeY(row + 1) - grow, edgeX(column + 1) - edgeX(column) + 2 * grow, edgeY(row) - edgeY(row + 1) + 2 * grow);
  }
}

function legend(variable, seen, reasons) {
  const items = [];
  if (variable.labels) {
    variable.labels.forEach((label, code) => {
      if (seen.has(code)) items.push(swatch(label, colourOfLabel(variable, code)));
    });
    if (variable === own("winner")) items.push(made("span", `full colour: margin from ${page.full_margin} %, pale: none`));
  } else if (seen.size) {
    const { low, high, isLog } = scaleOf(variable);
    const bar = made("span", "", "scale");
    bar.style.background = `linear-gradient(to right, ${page.numbers.join(",")})`;
    items.push(made("span", numberText(low)), bar, made("span", numberText(high) + (isLog ? " (logarithmic)" : "")));
  }
  if (reasons.size) items.push(swatch([...reasons].sort().join(", "), null));
  element("legend").replaceChildren(...items);
}

function made(tag, text, name) {
  const item = document.createElement(tag);
  item.textContent = text;
  if (name) item.className = name;
  return item;
}

function swatch(label, colour) {
  const item = made("span", ""), box = made("i", "", colour ? "" : "missing");
  if (colour) box.style.background = colour;
  item.append(box, label);
  return item;
}

function numbers(variable, columns, rows) {
  const details = element("numbers"), home = details.querySelector("div");
  home.replaceChildren();
  if (!details.open) return;
  if (columns * rows > page.most_numbers) {
    home.append(`${columns} times ${rows} cells are too many for a table.`);
    return;
  }
  const table = made("table", ""), head = table.insertRow();
  head.append(made("th", state.y === NONE ? "" : dims.get(state.y).label));
  for (let column = 0; column < columns; column++) head.append(made("th", state.x === NONE ? "" : dims.get(state.x).names[column]));
  for (let row = rows - 1; row >= 0; row--) {
    const line = table.insertRow();
    line.append(made("th", state.y === NONE ? "" : dims.get(state.y).names[row]));
    for (let column = 0; column < columns; column++) line.insertCell().textContent = textAt(variable, positionOf(column, row), "1");
  }
  home.append(table);
}

// Menus and sliders.

function controls() {
  const form = element("controls"), variable = variables.get(state.of), focused = document.activeElement?.name;
  form.replaceChildren();
  const groups = new Map();
  for (const each of page.variables.filter((each) => each.group)) {
    if (!groups.has(each.group)) groups.set(each.group, []);
    groups.get(each.group).push([each.name, each.label]);
  }
  form.append(menu("show", "of", state.of, groups));
  const nothing = state.x === NONE ? [[NONE, "nothing"]] : [];
  form.append(menu("along x", "x", state.x, new Map([["", [...nothing, ...named(variable.dims)]]])));
  form.append(menu("along y", "y", state.y, new Map([["", [[NONE, "nothing"], ...named(variable.dims)]]])));
  for (const name of variable.dims.filter((name) => name !== state.x && name !== state.y)) form.append(dims.get(name).is_number ? slider(name) : choice(name));
  if (focused) form.elements.namedItem(focused)?.focus();
}

function named(names) { return names.map((name) => [name, dims.get(name).label]); }

function menu(title, key, value, groups) {
  const label = made("label", title), select = made("select", "");
  for (const [group, items] of groups) {
    const home = group ? Object.assign(made("optgroup", ""), { label: group }) : select;
    for (const [name, text] of items) home.append(Object.assign(made("option", text), { value: name, selected: name === value }));
    if (group) select.append(home);
  }
  select.name = key;
  select.addEventListener("change", () => {
    const other = { x: "y", y: "x" }[key];
    if (other && select.value === state[other]) state[other] = state[key];
    state[key] = select.value;
    if (key === "y") state.flat = select.value === NONE;
    show();
  });
  label.append(select);
  return label;
}

function choice(name) {
  const dim = dims.get(name), label = made("label", dim.label), select = made("select", "");
  dim.names.forEach((text, place) => select.append(Object.assign(made("option", text), { value: place, selected: place === state.at[name] })));
  select.name = name;
  select.addEventListener("change", () => { state.at[name] = Number(select.value); update(); });
  label.append(select);
  return label;
}

function slider(name) {
  const dim = dims.get(name), label = made("label", dim.label), value = made("output", dim.names[state.at[name]]);
  const input = Object.assign(made("input", ""), { type: "range", min: 0, max: dim.names.length - 1, step: 1, value: state.at[name], name });
  input.addEventListener("input", () => { state.at[name] = Number(input.value); value.textContent = dim.names[state.at[name]]; update(); });
  label.append(value, input);
  return label;
}

// One point.

function point() {
  const names = page.dims.filter((dim) => dim.name !== PARAMETER).map((dim) => `${dim.label} ${dim.names[state.at[dim.name]]}`);
  element("place").textContent = names.join(", ");
  const rows = page.variables.filter((each) => each.group && !each.dims.includes(PARAMETER)).map((variable) => {
    const row = document.createElement("tr");
    row.append(made("th", variable.label), made("td", textAt(variable, state.at)));
    return row;
  });
  element("values").replaceChildren(...rows);
  element("bars").replaceChildren(...bars());
}

function bars() {
  const variable = own("elasticity");
  if (!variable) return [];
  const all = dims.get(PARAMETER).names.map((name, place) => [name, valueAt(variable, { ...state.at, [PARAMETER]: place })]);
  const known = all.filter(([, value]) => Number.isFinite(value) && value !== 0).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  const most = Math.max(...known.map(([, value]) => Math.abs(value)), 1e-9);
  const lines = known.map(([name, value]) => {
    const line = made("div", "", "bar"), track = made("div", ""), bar = made("span", "", value > 0 ? "up" : "down");
    const width = (50 * Math.abs(value)) / most;
    bar.style.width = width + "%";
    bar.style.left = (value > 0 ? 50 : 50 - width) + "%";
    track.append(bar, made("b", (value > 0 ? "+" : "") + value.toPrecision(3)));
    line.append(made("span", name), track);
    return line;
  });
  return [made("h3", variable.label + " (hatched: it falls)"), ...lines];
}

// What happens when.

function pointed(event) {
  const canvas = element("map"), box = canvas.box, frame = canvas.getBoundingClientRect();
  const column = Math.floor(((event.clientX - frame.left - box.left) / box.width) * size(state.x));
  const row = Math.floor(((box.top + box.height - (event.clientY - frame.top)) / box.height) * size(state.y));
  return column >= 0 && column < size(state.x) && row >= 0 && row < size(state.y) ? positionOf(column, row) : null;
}

function read(event) {
  const position = pointed(event);
  if (!position) return;
  const where = [state.x, state.y].filter((name) => name !== NONE).map((name) => `${dims.get(name).label} ${dims.get(name).names[position[name]]}`);
  element("readout").textContent = `${where.join(", ")}: ${textAt(variables.get(state.of), position)}`;
}

function pick(event) {
  const position = pointed(event);
  if (!position) return;
  Object.assign(state.at, position);
  update();
}

function step(event) {
  const moves = { ArrowLeft: [state.x, -1], ArrowRight: [state.x, 1], ArrowDown: [state.y, -1], ArrowUp: [state.y, 1] };
  const [name, by] = moves[event.key] ?? [NONE, 0];
  if (name === NONE) return;
  event.preventDefault();
  state.at[name] = Math.min(Math.max(state.at[name] + by, 0), size(name) - 1);
  update();
}

function update() {
  draw();
  point();
  const shown = new URLSearchParams({ of: state.of, x: state.x, y: state.y });
  for (const [name, place] of Object.entries(state.at)) shown.set("at." + name, dims.get(name).names[place]);
  if (element("numbers").open) shown.set("numbers", "open");
  history.replaceState(null, "", "#" + shown);
}

function show() {
  settle();
  controls();
  update();
}

function fromAddress() {
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    if (key === "of" && variables.get(value)?.group) state.of = value;
    else if (key === "x") state.x = value;
    else if (key === "y") { state.y = value; state.flat = value === NONE; }
    else if (key === "numbers") element("numbers").open = value === "open";
    else if (key.startsWith("at.") && dims.has(key.slice(3))) state.at[key.slice(3)] = Math.max(dims.get(key.slice(3)).names.indexOf(value), 0);
  }
}

unpack().then(() => {
  fromAddress();
  element("maps").hidden = element("point").hidden = false;
  element("map").addEventListener("mousemove", read);
  element("map").addEventListener("click", pick);
  element("map").addEventListener("keydown", step);
  element("numbers").addEventListener("toggle", update);
  window.addEventListener("resize", draw);
  show();
  element("state").remove();
}).catch((error) => { element("state").textContent = "This page cannot be shown: " + error; });
