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
