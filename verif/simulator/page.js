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
