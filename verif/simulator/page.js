"use strict";
// Everything is counted in cycles: the value of a cycle is the one that the clock's edge at its end sees.

const $ = (id) => document.getElementById(id);
const ROW = 22, LANE = 20, PAD = 3, HEAD = 32;
const MONO = "11px ui-monospace, monospace", SANS = "12px system-ui, sans-serif";

// --- the run -------------------------------------------------------------------------------------------------------

let run, waves, bytes;

async function load() {
  const packed = Uint8Array.from(atob($("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  bytes = new Uint8Array(buffer);
  const length = new Uint32Array(buffer, 0, 1)[0];
  run = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  let at = 4 + length;
  waves = run.waves.map(([bits, count]) => {
    const cycles = new Uint32Array(buffer, at, count);
    for (let i = 1; i < count; i++) cycles[i] += cycles[i - 1];
    at += 4 * count;
    return { bits, cycles, size: Math.ceil(bits / 8), at: 0 };
  });
  for (const wave of waves) {
    wave.at = at;
    at += wave.bits === 1 ? 1 : wave.cycles.length * wave.size;
  }
}

// The index of the change that a cycle's value is from.
function changeAt(wave, cycle, low = 0) {
  let high = wave.cycles.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (wave.cycles[middle] <= cycle) low = middle; else high = middle - 1;
  }
  return low;
}

// The value behind a change, as a number where it has at most 48 bits, and else as a BigInt.
function valueOf(wave, index) {
  if (wave.bits === 1) return bytes[wave.at] ^ (index & 1);
  const start = wave.at + index * wave.size;
  if (wave.size > 6) return BigInt("0x" + digitsOf(wave, index));
  let value = 0;
  for (let i = wave.size - 1; i >= 0; i--) value = value * 256 + bytes[start + i];
  return value;
}

function digitsOf(wave, index) {
  const start = wave.at + index * wave.size;
  let text = "";
  for (let i = wave.size - 1; i >= 0; i--) text += bytes[start + i].toString(16).padStart(2, "0");
  return text.slice(-Math.ceil(wave.bits / 4));
}

function spelt(line, index) {
  const wave = waves[line.wave];
  if (wave.bits === 1) return String(valueOf(wave, index));
  const named = line.names >= 0 ? run.names[line.names].values[valueOf(wave, index)] : undefined;
  if (named !== undefined) return named;
  return line.base === "hex" ? digitsOf(wave, index) : String(valueOf(wave, index));
}

const isError = (line, index) => line.names >= 0 && run.names[line.names].errors.includes(Number(valueOf(waves[line.wave], index)));

// --- the rows: groups with boxes and signals -----------------------------------------------------------------------

let rows = [], height = 0;
const found = { title: "found", closed: false, rows: [], lines: [] };

const lineOf = ([path, wave, color, base, names, name]) => ({ path, wave, color, base, names, name });

function prepare() {
  run.groups.forEach((group) => {
    group.lines = group.lines.map(lineOf);
    group.rows.forEach((row) => lanes(row));
  });
}

// Boxes that overlap lie in lanes of their own, one below the other.
function lanes(row) {
  const ends = [];
  row.lanes = [];
  row.boxes = row.boxes.map(([first, last, text, details, error, beats]) => {
    let lane = ends.findIndex((end) => end < first);
    if (lane < 0) lane = ends.length;
    ends[lane] = last;
    const box = { first, last, text, details, error, beats };
    (row.lanes[lane] ??= []).push(box);
    return box;
  });
}

function layOut() {
  rows = [];
  let y = 0;
  const put = (row, tall) => { rows.push({ ...row, y, tall }); y += tall; };
  for (const group of found.lines.length ? [found, ...run.groups] : run.groups) {
    if (group.title) put({ group }, ROW);
    for (const boxes of group.rows) if (boxes.lanes.length) put({ boxes, within: group }, boxes.lanes.length * LANE + 4);
    if (group.title && group.closed) continue;
    for (const line of group.lines) put({ line, within: group }, line.base === "analog" ? 2 * ROW : ROW);
  }
  height = y;
}

// --- what is seen --------------------------------------------------------------------------------------------------

const canvas = $("canvas"), context = canvas.getContext("2d");
const seen = { from: 0, scale: 1, top: 0, cursor: 0, marker: null, row: 0, box: null };
let width = 0, tall = 0, gutter = 0, colors = {}, waiting = false;

const span = () => (width - gutter) / seen.scale;
const xOf = (cycle) => gutter + (cycle - seen.from) * seen.scale;
const cycleAt = (x) => seen.from + (x - gutter) / seen.scale;
const whole = (cycle) => Math.max(0, Math.min(run.cycles - 1, Math.floor(cycle)));

function changed() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function keepInside() {
  const least = (width - gutter) / (run.cycles * 1.02);
  seen.scale = Math.max(least, Math.min(60, seen.scale));
  seen.from = Math.max(-0.01 * span(), Math.min(run.cycles + 0.01 * span() - span(), seen.from));
  if (span() >= run.cycles) seen.from = -(span() - run.cycles) / 2;
  seen.top = Math.max(0, Math.min(height - tall + HEAD + 10, seen.top));
  changed();
}

function zoom(factor, x = xOf(seen.cursor + 0.5)) {
  const at = cycleAt(Math.max(gutter, Math.min(width, x)));
  seen.scale *= factor;
  keepInside();
  seen.from = at - (Math.max(gutter, Math.min(width, x)) - gutter) / seen.scale;
  keepInside();
}

function fit() { seen.scale = 0; keepInside(); }

// The cycles in which the first word of a tensor enters and the last one leaves; null if none does.
function flightOf(tensor) {
  const cycles = [...tensor.entered, ...tensor.left].filter((cycle) => cycle >= 0);
  return cycles.length ? [cycles.reduce((a, b) => Math.min(a, b)), cycles.reduce((a, b) => Math.max(a, b))] : null;
}

// A run opens in the middle of its first tensor's flight, and shows no more than that; what sets it up is to the left.
function open() {
  const markers = run.markers.map(([, cycle]) => cycle);
  const flight = (run.tensors.length && flightOf(run.tensors[0])) || (markers.length && [markers[0], Math.max(...markers)]);
  if (!flight) return fit();
  const [first, last] = flight, cycles = 1.1 * (last - first + 1);
  seen.scale = (width - gutter) / cycles;
  keepInside();
  seen.from = (first + last + 1 - cycles) / 2;
  moveCursor((first + last) / 2);
}

function moveCursor(cycle, centre = false) {
  seen.cursor = whole(cycle);
  const x = xOf(seen.cursor + 0.5);
  if (centre || x < gutter + 10 || x > width - 10) seen.from = seen.cursor - span() / 2;
  keepInside();
}

function select(index) {
  seen.row = Math.max(0, Math.min(rows.length - 1, index));
  const row = rows[seen.row];
  if (row.y < seen.top) seen.top = row.y;
  if (row.y + row.tall > seen.top + tall - HEAD) seen.top = row.y + row.tall - tall + HEAD;
  if (row.line) showLine(row.line);
  keepInside();
}

function measure() {
  const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  width = box.width; tall = box.height;
  gutter = Math.min(270, Math.round(width * 0.4));
  canvas.width = width * ratio; canvas.height = tall * ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const style = getComputedStyle(document.documentElement);
  for (const name of ["paper", "ink", "faint", "grid", "panel", "pick", "cursor", "marker", "error", "normal", "green", "blue", "yellow",
    "orange", "violet", "before", "inside", "after"]) colors[name] = style.getPropertyValue("--" + name).trim();
  keepInside();
}

// --- drawing -------------------------------------------------------------------------------------------------------

function draw() {
  context.fillStyle = colors.paper;
  context.fillRect(0, 0, width, tall);
  context.save();
  context.beginPath(); context.rect(0, HEAD, width, tall - HEAD); context.clip();
  rows.forEach((row, index) => {
    const y = row.y - seen.top + HEAD;
    if (y + row.tall < HEAD || y > tall) return;
    if (row.group || index === seen.row) {
      context.fillStyle = index === seen.row ? colors.pick : colors.panel;
      context.fillRect(0, y, row.group ? width : gutter, row.tall);
    }
    context.save();
    context.beginPath(); context.rect(gutter, y, width - gutter, row.tall); context.clip();
    if (row.boxes) drawBoxes(row.boxes, y);
    else if (row.line) drawLine(row.line, y, row.tall);
    context.restore();
    drawName(row, y);
  });
  context.restore();
  drawHead();
  drawUpright(seen.marker, colors.marker);
  drawUpright(seen.cursor, colors.cursor);
  tell();
  drawTensor();
}

function text(string, x, y, room, color, font, end = false) {
  context.font = font; context.fillStyle = color; context.textBaseline = "middle";
  context.textAlign = end ? "right" : "left";
  let short = string;
  if (context.measureText(short).width > room) {
    const letters = Math.floor(room / context.measureText("0").width) - 1;
    if (letters < 1) return;
    short = string.slice(0, letters) + "…";
  }
  context.fillText(short, x, y);
}

function drawName(row, y) {
  const middle = y + (row.line && row.line.base !== "analog" || row.group ? ROW / 2 : row.tall / 2);
  if (row.group) return text((row.group.closed ? "▸ " : "▾ ") + row.group.title, 6, middle, width, colors.ink, "600 " + SANS);
  if (row.boxes) return text(row.boxes.title, 16, middle, gutter - 20, colors.faint, SANS);
  const { line } = row, index = changeAt(waves[line.wave], seen.cursor);
  const value = spelt(line, index);
  context.font = MONO;
  const room = Math.min(context.measureText(value).width, gutter * 0.4);
  const space = gutter - 30 - room;
  let name = line.name;
  while (name.includes(".") && context.measureText(name).width > space) name = name.slice(name.indexOf(".") + 1);
  // The end of a long name says more than its beginning.
  const letters = Math.floor(space / context.measureText("0").width);
  if (name.length > letters) name = "…" + name.slice(1 - letters);
  text(name, 16, middle, space, colors.ink, MONO);
  text(value, gutter - room - 6, middle, room + 1, isError(line, index) ? colors.error : colors[line.color], MONO);
}

function drawBoxes(row, y) {
  const end = seen.from + span();
  row.lanes.forEach((boxes, lane) => {
    const top = y + 2 + lane * LANE;
    let low = 0, high = boxes.length;
    while (low < high) { const middle = (low + high) >> 1; if (boxes[middle].last < seen.from) low = middle + 1; else high = middle; }
    let drawn = -1;
    for (let i = low; i < boxes.length && boxes[i].first <= end; i++) {
      const box = boxes[i], x = Math.max(gutter - 4, xOf(box.first)), right = Math.min(width + 4, xOf(box.last + 1));
      if (right <= drawn && !box.error) continue;
      drawn = Math.max(right, Math.ceil(x + 0.5));
      const color = box.error ? colors.error : colors.blue, room = Math.max(1, right - x - (right - x > 4 ? 1 : 0));
      context.globalAlpha = box === seen.box ? 0.45 : 0.16;
      context.fillStyle = color; context.fillRect(x, top, room, LANE - 3);
      context.globalAlpha = 1;
      context.fillRect(x, top, 1, LANE - 3);
      if (room > 14) {
        context.strokeStyle = color; context.lineWidth = box === seen.box ? 2 : 1;
        context.strokeRect(x + 0.5, top + 0.5, room - 1, LANE - 4);
        text(box.text, x + 4, top + LANE / 2 - 1, room - 6, box.error ? colors.error : colors.ink, MONO);
      }
      if (seen.scale >= 1.5) drawBeats(box.beats, top + LANE - 3, color);
    }
  });
}

// A tick at the foot of a box for each beat; where they would touch there are none.
function drawBeats(beats, foot, color) {
  const end = seen.from + span();
  let low = 0, high = beats.length;
  while (low < high) { const middle = (low + high) >> 1; if (beats[middle] < seen.from - 1) low = middle + 1; else high = middle; }
  context.fillStyle = color;
  for (let i = low; i < beats.length && beats[i] <= end; i++) context.fillRect(Math.round(xOf(beats[i] + 0.5)), foot - 4, 1, 4);
}

// Walks over what is in the window: segments that are wider than a pixel one by one, and the others together.
function segments(wave, one, many) {
  let index = changeAt(wave, Math.max(0, seen.from)), x = xOf(Math.max(0, wave.cycles[index]));
  const stop = Math.min(width, xOf(run.cycles)), count = wave.cycles.length;
  while (x < stop) {
    const next = index + 1 < count ? xOf(wave.cycles[index + 1]) : xOf(run.cycles);
    if (next - x >= 1.5 || next >= stop) {
      one(Math.max(x, gutter - 8), Math.min(next, stop + 8), index);
      index++;
      x = next;
    } else {
      const edge = Math.floor(x) + 2, last = changeAt(wave, cycleAt(edge), index + 1);
      many(x, edge, index, last);
      index = last;
      x = edge;
      // The segment goes on beyond this pixel.
      const after = index + 1 < count ? xOf(wave.cycles[index + 1]) : xOf(run.cycles);
      if (after - x >= 1.5) { one(x, Math.min(after, stop + 8), index); index++; x = after; }
    }
    if (index >= count) break;
  }
}

// Fills where changes are too dense to be told apart; neighbours are one area.
function dense(top, bottom) {
  let start = 0, end = -1;
  const fill = () => {
    context.globalAlpha = 0.6; context.fillRect(start, top, end - start, bottom - top); context.globalAlpha = 1;
  };
  const add = (x, edge) => {
    if (x > end + 0.5) { if (end > start) fill(); start = x; }
    end = edge;
  };
  return { add, done: () => { if (end > start) fill(); } };
}

function drawLine(line, y, row) {
  const wave = waves[line.wave], color = colors[line.color], top = y + PAD, bottom = y + row - PAD;
  context.strokeStyle = color; context.fillStyle = color; context.lineWidth = 1;
  context.beginPath();
  if (line.base === "analog") drawAnalog(wave, top, bottom);
  else if (wave.bits === 1) drawBit(line, wave, top, bottom);
  else drawBus(line, wave, top, bottom);
}

function drawBit(line, wave, top, bottom) {
  let before = null;
  const areas = dense(top, bottom);
  const red = line.names >= 0 && run.names[line.names].errors.includes(1);
  if (red) context.strokeStyle = context.fillStyle = colors.error;
  segments(wave, (x, next, index) => {
    const high = valueOf(wave, index), level = Math.round(high ? top : bottom) + 0.5;
    if (before === null) context.moveTo(x, level); else { context.lineTo(x, before); context.lineTo(x, level); }
    context.lineTo(next, level);
    if (high) { context.globalAlpha = 0.12; context.fillRect(x, top, next - x, bottom - top); context.globalAlpha = 1; }
    before = level;
  }, (x, edge) => {
    areas.add(x, edge);
    before = null;
  });
  areas.done();
  context.stroke();
}

function drawBus(line, wave, top, bottom) {
  const labels = [], areas = dense(top, bottom);
  segments(wave, (x, next, index) => {
    const slant = Math.min(3, (next - x) / 3), middle = (top + bottom) / 2, error = line.names >= 0 && isError(line, index);
    context.moveTo(x, middle); context.lineTo(x + slant, top); context.lineTo(next - slant, top); context.lineTo(next, middle);
    context.lineTo(next - slant, bottom); context.lineTo(x + slant, bottom); context.lineTo(x, middle);
    if (error) { context.fillStyle = colors.error; context.globalAlpha = 0.3; context.fillRect(x, top, next - x, bottom - top); context.globalAlpha = 1; }
    if (next - x > 16) labels.push([x, next, index, error]);
  }, (x, edge) => areas.add(x, edge));
  areas.done();
  context.stroke();
  for (const [x, next, index, error] of labels) {
    const left = Math.max(x, gutter);
    text(spelt(line, index), left + 5, (top + bottom) / 2, Math.min(next, width) - left - 8, error ? colors.error : colors.ink, MONO);
  }
}

function drawAnalog(wave, top, bottom) {
  if (wave.most === undefined) {
    wave.most = 1;
    for (let i = 0; i < wave.cycles.length; i++) wave.most = Math.max(wave.most, Number(valueOf(wave, i)));
  }
  const level = (index) => bottom - (bottom - top) * Number(valueOf(wave, index)) / wave.most;
  let started = false;
  const line = (x, next, index) => {
    const y = level(index);
    if (started) context.lineTo(x, y); else context.moveTo(x, y);
    context.lineTo(next, y);
    context.globalAlpha = 0.2; context.fillRect(x, y, next - x, bottom - y); context.globalAlpha = 1;
    started = true;
  };
  segments(wave, line, (x, edge, first, last) => { line(x, x + 1, first); line(x + 1, edge, last); });
  context.stroke();
}

function drawHead() {
  context.fillStyle = colors.panel;
  context.fillRect(0, 0, width, HEAD);
  const steps = [1, 2, 5].flatMap((one) => [1, 10, 100, 1000, 10000, 100000].map((ten) => one * ten)).sort((a, b) => a - b);
  const step = steps.find((size) => size * seen.scale > 60) ?? 1e6;
  for (let cycle = Math.max(0, Math.ceil(seen.from / step) * step); cycle < run.cycles && xOf(cycle) < width; cycle += step) {
    if (xOf(cycle) < gutter) continue;
    context.fillStyle = colors.grid; context.fillRect(Math.round(xOf(cycle)), HEAD / 2 - 6, 1, tall);
    text(String(cycle), xOf(cycle) + 3, HEAD / 4, 60, colors.faint, MONO);
  }
  let free = gutter;
  for (const [name, cycle] of run.markers) {
    const x = xOf(cycle);
    if (x < gutter || x > width) continue;
    context.fillStyle = colors.marker; context.fillRect(x, HEAD / 2, 2, HEAD / 2);
    context.globalAlpha = 0.5; context.fillRect(x, HEAD, 1, tall); context.globalAlpha = 1;
    // A name that would lie over the one before is left out; the list of events has it.
    if (x < free) continue;
    text(name, x + 4, HEAD * 3 / 4, 120, colors.marker, SANS);
    free = x + 10 + context.measureText(name).width;
  }
  for (const [cycle, , error] of run.events) {
    if (!error || xOf(cycle) < gutter) continue;
    context.fillStyle = colors.error; context.fillRect(xOf(cycle), 0, 2, tall);
  }
}

function drawUpright(cycle, color) {
  if (cycle === null) return;
  const x = xOf(cycle);
  if (x + seen.scale < gutter || x > width) return;
  context.fillStyle = color;
  context.globalAlpha = 0.14; context.fillRect(Math.max(x, gutter), 0, Math.max(2, seen.scale), tall); context.globalAlpha = 1;
  context.fillRect(Math.max(x, gutter), 0, 1.5, tall);
}

// --- words beside the drawing --------------------------------------------------------------------------------------

let told = "";

function tell() {
  const row = rows[seen.row], parts = [`cycle ${seen.cursor}`];
  if (seen.marker !== null) parts.push(`marker ${seen.marker}`, `Δ ${seen.cursor - seen.marker} cycles`);
  if (row?.line) parts.push(`${row.line.name} = ${spelt(row.line, changeAt(waves[row.line.wave], seen.cursor))}`);
  if (row?.group) parts.push(row.group.title);
  if (row?.boxes) parts.push(row.boxes.title);
  const now = parts.join(" · ");
  if (now === told) return;
  told = now;
  $("readout").textContent = now;
  if (shown) $("details").textContent = shown();
  let current = null;
  run.events.forEach(([cycle], index) => { if (cycle <= seen.cursor) current = index; });
  for (const item of $("events").querySelectorAll("[aria-current]")) item.removeAttribute("aria-current");
  if (current === null) return;
  const item = foldOf(current)?.querySelector("summary") ?? buttons[current], part = $("events-part");
  item.setAttribute("aria-current", "true");
  part.scrollTop += item.getBoundingClientRect().top - part.getBoundingClientRect().top - part.clientHeight / 2;
}

// What the details say, where it follows the cursor.
let shown = null, cause = -1;

function say(string, because = -1) {
  shown = null; cause = because;
  $("details").textContent = string;
  $("cause").hidden = because < 0;
}

function showLine(line) {
  seen.box = null;
  say("");
  shown = () => {
    const wave = waves[line.wave], index = changeAt(wave, seen.cursor), value = valueOf(wave, index);
    const until = index + 1 < wave.cycles.length ? wave.cycles[index + 1] - 1 : run.cycles - 1;
    return `${line.path}\n${wave.bits} bit${wave.bits > 1 ? "s" : ""}: ${spelt(line, index)}` +
      `${wave.bits > 1 ? `  (0x${value.toString(16)}, ${value})` : ""}\nfrom cycle ${wave.cycles[index]} to ${until}`;
  };
  $("details").textContent = shown();
}

function showBox(box) {
  seen.box = box;
  const event = run.events.findIndex(([cycle, , error, because]) => error && because >= 0 && cycle >= box.first && cycle <= box.last);
  say(`${box.text}\ncycles ${box.first} to ${box.last} (${box.last - box.first + 1})\n${box.details}`,
    box.error && event >= 0 ? run.events[event][3] : -1);
  changed();
}

function toEvent(index) {
  const [cycle, what, error, because] = run.events[index];
  seen.box = null;
  say(`${what}\ncycle ${cycle}` + (because >= 0 ? `\nbecause of: ${run.events[because][1]} (cycle ${run.events[because][0]})` : ""),
    because);
  moveCursor(cycle, true);
}

function nextEvent(step, only = () => true) {
  // Of events that are folded the first one stands for all.
  const folded = (index) => foldOf(index) && foldOf(index) === foldOf(index - 1);
  const cycles = run.events.map((event, index) => [event[0], index]).filter(([, index]) => only(run.events[index]) && !folded(index));
  const ahead = cycles.filter(([cycle]) => step > 0 ? cycle > seen.cursor : cycle < seen.cursor);
  const wanted = ahead.length ? ahead.at(step > 0 ? 0 : -1) : cycles[0];
  if (wanted) toEvent(wanted[1]);
}

const buttons = [];

// The fold that hides an event.
const foldOf = (index) => buttons[index]?.closest("details:not([open])") ?? null;

function listEvents() {
  $("events-part").hidden = !run.events.length;
  let fold = null;
  run.events.forEach(([cycle, what, error, , kind], index) => {
    const item = document.createElement("li");
    buttons[index] = document.createElement("button");
    entry(buttons[index], cycle, what);
    if (error) buttons[index].className = "error";
    buttons[index].onclick = () => toEvent(index);
    item.append(buttons[index]);
    if (fold?.kind !== kind) fold = foldFrom(index);
    (fold?.list ?? $("events")).append(item);
  });
}

function entry(element, cycle, what) {
  const number = document.createElement("b");
  number.textContent = cycle;
  element.append(number, what);
}

// A fold of the events of one kind in a row that begin at an index; null for a single one and for those without a kind.
function foldFrom(index) {
  const [cycle, , , , kind] = run.events[index], end = run.events.findIndex((event, at) => at > index && event[4] !== kind);
  const count = (end < 0 ? run.events.length : end) - index;
  if (!kind || count < 2) return null;
  const item = document.createElement("li"), part = document.createElement("details"), list = document.createElement("ol");
  const summary = document.createElement("summary");
  entry(summary, cycle, `${count} ${kind}`);
  part.append(summary, list);
  item.append(part);
  $("events").append(item);
  return { kind, list };
}

// --- the tensor ----------------------------------------------------------------------------------------------------

const cells = $("cells"), grid = { tensor: null, each: 1, size: 8, across: 1, word: null, drawn: "" };

function chooseTensor(index) {
  grid.tensor = run.tensors[index];
  grid.word = null;
  $("flight").textContent = summary(grid.tensor);
  $("pale").hidden = grid.tensor.stored.every(Boolean);
  drawTensor();
}

// Bytes in and out, cycles from the first word in to the last one out, and which words of what they are.
function summary({ sizes: [into, out], entered, ...tensor }) {
  const number = (value) => value.toLocaleString("en"), flight = flightOf({ entered, ...tensor });
  const parts = [`${number(into)} → ${number(out)} bytes`];
  if (flight) parts.push(`${number(flight[1] - flight[0] + 1)} cycles`);
  parts.push(run.total ? `words 0 to ${number(entered.length - 1)} of ${number(run.total)}` : `${number(entered.length)} words`);
  return parts.join(", ");
}

const placeOf = (tensor, word) =>
  tensor.left[word] >= 0 && tensor.left[word] < seen.cursor ? 2 : tensor.entered[word] >= 0 && tensor.entered[word] < seen.cursor ? 1 : 0;

function drawTensor() {
  const { tensor } = grid;
  if (!tensor) return;
  const words = tensor.entered.length, room = cells.clientWidth || 300;
  const state = [run.tensors.indexOf(tensor), seen.cursor, grid.word, room, colors.paper].join();
  if (state === grid.drawn) return;
  grid.drawn = state;
  grid.each = Math.ceil(words / 4096);
  const count = Math.ceil(words / grid.each);
  grid.size = Math.max(3, Math.min(16, Math.floor(Math.sqrt(room * 120 / count))));
  grid.across = Math.max(1, 8 * Math.floor(room / grid.size / 8) || Math.floor(room / grid.size));
  const lines = Math.ceil(count / grid.across), ratio = devicePixelRatio || 1;
  const tallness = lines * grid.size;
  if (cells.width !== Math.round(room * ratio) || cells.height !== Math.round(tallness * ratio)) {
    cells.width = Math.round(room * ratio); cells.height = Math.round(tallness * ratio);
    cells.style.height = tallness + "px";
  }
  const to = cells.getContext("2d");
  to.setTransform(ratio, 0, 0, ratio, 0, 0);
  to.clearRect(0, 0, room, tallness);
  for (let cell = 0; cell < count; cell++) {
    const word = cell * grid.each;
    to.fillStyle = colors[["before", "inside", "after"][placeOf(tensor, word)]];
    to.globalAlpha = tensor.stored[word] ? 1 : 0.4;
    const gap = grid.size > 4 ? 1 : 0;
    to.fillRect(cell % grid.across * grid.size, Math.floor(cell / grid.across) * grid.size, grid.size - gap, grid.size - gap);
    if (word !== grid.word) continue;
    to.globalAlpha = 1; to.strokeStyle = colors.cursor; to.lineWidth = 2;
    to.strokeRect(cell % grid.across * grid.size, Math.floor(cell / grid.across) * grid.size, grid.size - 1, grid.size - 1);
  }
  const numbers = [0, 0, 0];
  for (let word = 0; word < words; word++) numbers[placeOf(tensor, word)]++;
  $("places").replaceChildren(...tensor.places.map((place, index) => {
    const part = document.createElement("span"), sample = document.createElement("i");
    sample.style.background = colors[["before", "inside", "after"][index]];
    part.append(sample, `${place}: ${numbers[index]}`);
    return part;
  }));
}

cells.onclick = (event) => {
  const column = Math.floor(event.offsetX / grid.size), line = Math.floor(event.offsetY / grid.size);
  if (column < grid.across) showWord((line * grid.across + column) * grid.each);
};

cells.onkeydown = (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.across, ArrowDown: grid.across }[event.key];
  if (!step) return;
  showWord(grid.word === null ? 0 : grid.word + step * grid.each);
  event.preventDefault();
  event.stopPropagation();
};

function showWord(word) {
  const { tensor } = grid;
  if (word < 0 || word >= tensor.entered.length) return;
  grid.word = word;
  const when = (cycle, verb) => cycle < 0 ? `never ${verb}` : `${verb} in cycle ${cycle}`;
  say(`word ${word}: ${tensor.values[word] ?? ""} ${tensor.stored[word] ? "(a literal)" : "(in the header alone)"}\n` +
    `${when(tensor.entered[word], "read")}\n${when(tensor.left[word], "written")}`);
  if (tensor.left[word] >= 0) moveCursor(tensor.left[word]);
  changed();
}

// --- search --------------------------------------------------------------------------------------------------------

const search = $("search"), list = $("found");
let hits = [], pick = 0;

function look() {
  const parts = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = [];
  if (parts.length) {
    for (const signal of run.signals) {
      if (parts.every((part) => signal[0].toLowerCase().includes(part))) hits.push(signal);
    }
    hits.sort((one, other) => one[0].length - other[0].length);
    hits.length = Math.min(hits.length, 60);
  }
  pick = 0;
  list.hidden = !hits.length;
  list.replaceChildren(...hits.map(([path], index) => {
    const item = document.createElement("li");
    item.textContent = path;
    item.onclick = () => { pick = index; take(); };
    return item;
  }));
  markPick();
}

function markPick() {
  [...list.children].forEach((item, index) => item.setAttribute("aria-selected", index === pick));
  list.children[pick]?.scrollIntoView({ block: "nearest" });
}

// Shows the signal that is picked: in its group, or in one of those that were found.
function take() {
  const hit = hits[pick];
  if (!hit) return;
  const [path, wave, names] = hit;
  const group = run.groups.find((one) => one.lines.some((line) => line.path === path));
  if (group) group.closed = false;
  else if (!found.lines.some((line) => line.path === path)) found.lines.push(lineOf([path, wave, "normal", "hex", names, path]));
  layOut();
  leaveSearch();
  select(rows.findIndex((row) => row.line?.path === path));
}

function leaveSearch() {
  search.value = "";
  look();
  canvas.focus();
}

search.oninput = look;
search.onkeydown = (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { pick = Math.max(0, Math.min(hits.length - 1, pick + step)); markPick(); event.preventDefault(); }
  if (event.key === "Enter") take();
  if (event.key === "Escape") leaveSearch();
  event.stopPropagation();
};

// --- keys, mouse, touch --------------------------------------------------------------------------------------------

function boxAt(row, cycle) {
  for (const lane of row.boxes.lanes) for (const box of lane) if (box.first <= cycle && cycle <= box.last) return box;
  return null;
}

function activate() {
  const row = rows[seen.row];
  if (row?.group) toggle(row.group);
  else if (row?.boxes) { const box = boxAt(row, seen.cursor); if (box) showBox(box); }
}

function toggle(group) {
  group.closed = !group.closed;
  layOut();
  keepInside();
}

function step(forward, event) {
  const row = rows[seen.row];
  if (!event.shiftKey) return moveCursor(seen.cursor + (forward ? 1 : -1));
  if (row?.line) {
    const { cycles } = waves[row.line.wave], index = changeAt(waves[row.line.wave], seen.cursor);
    const to = forward ? cycles[index + 1] : cycles[index] < seen.cursor ? cycles[index] : cycles[index - 1];
    if (to !== undefined) moveCursor(to);
  } else if (row?.boxes) {
    const starts = row.boxes.boxes.map((box) => box.first);
    const to = forward ? starts.find((cycle) => cycle > seen.cursor) : starts.filter((cycle) => cycle < seen.cursor).at(-1);
    if (to !== undefined) { moveCursor(to); activate(); }
  }
}

const KEYS = {
  ArrowLeft: (event) => step(false, event), ArrowRight: (event) => step(true, event),
  ArrowUp: () => select(seen.row - 1), ArrowDown: () => select(seen.row + 1),
  Enter: activate, "+": () => zoom(1.5), "=": () => zoom(1.5), "-": () => zoom(1 / 1.5), 0: fit, f: fit,
  Home: () => moveCursor(0), End: () => moveCursor(run.cycles - 1),
  PageUp: () => { seen.from -= span() * 0.9; moveCursor(seen.cursor - span() * 0.9); },
  PageDown: () => { seen.from += span() * 0.9; moveCursor(seen.cursor + span() * 0.9); },
  m: () => mark(), n: () => nextEvent(1), p: () => nextEvent(-1), e: () => nextEvent(1, ([, , error]) => error),
  c: () => { if (cause >= 0) toEvent(cause); },
  "/": () => search.focus(), "?": () => $("help").showModal(),
};

function mark() {
  seen.marker = seen.marker === seen.cursor ? null : seen.cursor;
  changed();
}

document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("help").open) return;
  // Buttons and lists keep the keys that they have themselves.
  if (event.target.closest("button, select, a") && ["Enter", " ", "ArrowUp", "ArrowDown"].includes(event.key)) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
};

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const { x } = inside(event);
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) seen.from += (event.deltaX || event.deltaY) / seen.scale;
  else if (x < gutter || event.altKey) seen.top += event.deltaY;
  else return zoom(Math.exp(-event.deltaY * 0.0022), x);
  keepInside();
}, { passive: false });

const pointers = new Map();
let moved = false;

function inside(event) {
  const box = canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

const apart = () => { const [one, other] = [...pointers.values()]; return Math.max(10, Math.hypot(one.x - other.x, one.y - other.y)); };

canvas.onpointerdown = (event) => {
  canvas.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, inside(event));
  moved = pointers.size > 1;
};

canvas.onpointermove = (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const now = inside(event);
  if (pointers.size === 2) {
    const was = apart();
    pointers.set(event.pointerId, now);
    const [one, other] = [...pointers.values()];
    return zoom(apart() / was, (one.x + other.x) / 2);
  }
  if (!moved && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
  moved = true;
  seen.from -= (now.x - before.x) / seen.scale;
  seen.top -= now.y - before.y;
  pointers.set(event.pointerId, now);
  keepInside();
};

canvas.onpointerup = (event) => {
  pointers.delete(event.pointerId);
  if (!moved) click(inside(event));
};
canvas.onpointercancel = (event) => pointers.delete(event.pointerId);

function click({ x, y }) {
  if (x >= gutter) moveCursor(cycleAt(x));
  const index = rows.findIndex((row) => y - HEAD + seen.top >= row.y && y - HEAD + seen.top < row.y + row.tall);
  if (y < HEAD || index < 0) return;
  seen.row = index;
  const row = rows[index];
  if (row.group) toggle(row.group);
  if (row.line) showLine(row.line);
  if (row.boxes && x >= gutter) {
    const lane = Math.floor((y - HEAD + seen.top - row.y - 2) / LANE);
    // A box narrower than a finger is met from near by.
    const near = (box) => Math.max(box.first - cycleAt(x), cycleAt(x) - box.last - 1, 0) * seen.scale;
    const [best] = [...(row.boxes.lanes[lane] ?? [])].sort((one, other) => near(one) - near(other));
    if (best && near(best) < 8) showBox(best);
  }
  changed();
}

// --- the start -----------------------------------------------------------------------------------------------------

async function start() {
  if (!window.DecompressionStream) return say("This browser is too old: the data are unpacked by what browsers have since 2023.");
  await load();
  prepare();
  layOut();
  listEvents();
  $("tensor-part").hidden = !run.tensors.length;
  run.tensors.forEach(({ title }, index) => $("tensor").add(new Option(title, index)));
  $("tensor").onchange = () => chooseTensor($("tensor").value);
  $("zoom-in").onclick = () => zoom(1.5);
  $("zoom-out").onclick = () => zoom(1 / 1.5);
  $("fit").onclick = fit;
  $("mark").onclick = mark;
  $("keys").onclick = () => $("help").showModal();
  $("cause").onclick = () => toEvent(cause);
  new ResizeObserver(measure).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", measure);
  measure();
  open();
  if (run.tensors.length) chooseTensor(0);
  document.body.dataset.ready = "yes";
}

start();
