// Timelines of compute units on a canvas: lanes of waves, from the whole launch down to single cycles.
//
// Every track is painted as a row of pixels first: what lies under a pixel is added up by its share, so the
// whole launch reads as its average and a single cycle as itself, and a frame costs one pass over what is in
// view. Where that is more than a screen can tell apart, sums made once stand for it. Rows are then stretched
// to the lanes' height; lines, words and arrows come on top.
const AXIS = 26;
const HEAD = 38;
const LABEL = 92;
const LANES_HEIGHT = 440;
const LEAST_CYCLES = 24;
const BINS = 8192;
// More segments than this under a pixel are drawn from the sums.
const CROWDED = 4;
const POINTED = 'hipkittens:point-in-timeline';
const SELECTED = 'hipkittens:select-in-timeline';
const TYPES = { f4: Float32Array, u4: Uint32Array, i4: Int32Array, u1: Uint8Array };

const rgb = hue => [1, 3, 5].map(at => parseInt(hue.slice(at, at + 2), 16));
const whole = value => Math.round(value).toLocaleString('en-US');

/** Seconds in words, in microseconds or below one of them in nanoseconds; never with an exponent. */
export function duration(seconds, digits) {
  const [value, unit] = seconds < 0.999e-6 ? [seconds * 1e9, 'ns'] : [seconds * 1e6, 'us'];
  return `${value < 10 ** digits - 1 ? value.toPrecision(digits) : whole(value)} ${unit}`;
}

/** The first entry of a sorted stretch that is greater than a value. */
export function after(values, value, low, high) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** One timeline's columns, with the sums that stand for crowded segments. */
export class Track {
  // Its columns: what a span is, when its segments begin and end, of which span each is, why it waits.
  /** @type {Float32Array} */ begin;
  /** @type {Float32Array} */ end;
  /** @type {Uint32Array} */ span;
  /** @type {Uint8Array} */ kind;
  /** @type {Uint8Array} */ reason;

  constructor(header, buffer, offset, meanings) {
    this.header = header;
    for (const [name, [type, at, count]] of Object.entries(header.at)) {
      this[name] = new TYPES[type](buffer, offset + at, count);
    }
    const families = { 0: meanings.kinds.map(kind => kind[1]), 1: meanings.reasons.map(reason => reason[1]) };
    this.family = new Uint8Array(this.begin.length);
    for (let track = 0; track + 1 < header.tracks.length; track++) {
      const values = track % 2 ? this.reason : this.kind;
      for (let i = header.tracks[track]; i < header.tracks[track + 1]; i++) {
        this.family[i] = families[track % 2][values[this.span[i]]];
      }
    }
    this.sums = [];
  }

  /** Red, green, blue and cover of a track's BINS equal parts; computed on first use. */
  binsOf(track, colours) {
    this.sums[track] ??= (() => {
      const sums = new Float32Array(4 * BINS);
      paint(this, track, 0, BINS / this.header.cycles, BINS, sums, colours, null);
      return sums;
    })();
    return this.sums[track];
  }
}

/** Adds up a track's segments under each pixel: [red, green, blue, cover] in turn, the colours times cover. */
export function paint(line, track, from, scale, width, sums, colours, dim) {
  const { begin, end, family, span, op } = line;
  const [low, high] = [line.header.tracks[track], line.header.tracks[track + 1]];
  const until = from + width / scale;
  for (let i = after(end, from, low, high); i < high && begin[i] < until; i++) {
    const [red, green, blue] = colours[family[i]];
    const weight = dim && !dim[op[span[i]]] ? 0.16 : 1;
    const x0 = Math.max(0, (begin[i] - from) * scale);
    const x1 = Math.min(width, (end[i] - from) * scale);
    const last = Math.min(width - 1, Math.floor(x1));
    for (let x = Math.floor(x0); x <= last; x++) {
      const cover = (Math.min(x1, x + 1) - Math.max(x0, x)) * weight;
      if (cover > 0) {
        const at = 4 * x;
        sums[at] += red * cover;
        sums[at + 1] += green * cover;
        sums[at + 2] += blue * cover;
        sums[at + 3] += cover;
      }
    }
  }
}

/** The same from a track's equal parts. */
export function paintBins(line, track, from, scale, width, sums, colours) {
  const bins = line.binsOf(track, colours);
  const each = BINS / line.header.cycles;
  for (let x = 0; x < width; x++) {
    const low = Math.max(0, (from + x / scale) * each);
    const high = Math.min(BINS, (from + (x + 1) / scale) * each);
    const share = 1 / (each / scale);
    for (let bin = Math.floor(low); bin < high; bin++) {
      const part = (Math.min(high, bin + 1) - Math.max(low, bin)) * share;
      for (let c = 0; c < 4; c++) {
        sums[4 * x + c] += bins[4 * bin + c] * part;
      }
    }
  }
}

function element(name, kind, parent, text = '') {
  const made = document.createElement(name);
  made.className = kind;
  made.textContent = text;
  parent?.append(made);
  return made;
}

/**
 * Draws timelines into an element.
 *
 * @param el - the element.
 * @param content - {meanings, timelines: [{...}]}, as `views.waves.packed` makes them.
 * @param data - an ArrayBuffer or a view of one: the columns of all timelines, one after the other.
 * @param hooks - `selected(place)`: a click chose an instruction, or nothing (null).
 */
export class Waves {
  // Elements of the page.
  /** @type {HTMLElement} */ root;
  /** @type {HTMLElement} */ range;
  /** @type {HTMLCanvasElement} */ canvas;
  /** @type {HTMLElement} */ tip;
  /** @type {HTMLCanvasElement} */ strip;
  /** @type {AbortController} */ off;
  /** @type {ResizeObserver} */ sizes;
  /** @type {MutationObserver} */ themes;
  // Sizes in pixels of the page, and rows from top to bottom.
  /** @type {number} */ lane;
  /** @type {any[]} */ rows;
  /** @type {{ y: number, axis: number }[]} */ heads;
  /** @type {number} */ height;
  /** @type {number} */ width;
  /** @type {number} */ ratio;
  // Cycles that are shown.
  /** @type {number} */ from;
  /** @type {number} */ to;
  // What is drawn next, in which colours, and one row of pixels added up.
  /** @type {number | undefined} */ frame;
  /** @type {string} */ ink;
  /** @type {string} */ faint;
  /** @type {string} */ line;
  /** @type {ImageData} */ pixels;
  /** @type {Float32Array} */ sum;
  // Under the pointer, held by it, and chosen.
  /** @type {{ offsetX: number, offsetY: number } | null} */ at;
  /** @type {{ x: number, moved: boolean } | null} */ held;
  /** @type {any} */ pointed;
  /** @type {any} */ chosen;

  constructor(el, content, data, hooks = {}) {
    this.hooks = hooks;
    this.meanings = content.meanings;
    this.colours = content.meanings.families.map(family => rgb(family.hue));
    const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
    const buffer = bytes.slice().buffer;
    let offset = 0;
    this.lines = content.timelines.map(one => {
      const line = new Track(one, buffer, offset, content.meanings);
      offset += one.bytes;
      return line;
    });
    this.most = Math.max(1, ...this.lines.map(line => line.header.cycles));
    [this.from, this.to] = [0, this.most];
    this.chosen = null;
    this.pointed = null;
    this.build(el);
    this.listen();
    this.recolour();
    this.fit();
  }

  build(el) {
    const root = (this.root = element('div', 'wb-waves', el));
    const bar = element('div', 'wb-waves-bar', root);
    this.range = element('span', 'wb-waves-range', bar);
    /** @type {[string, string, () => void][]} */
    const acts = [
      ['−', 'Zoom out (−)', () => this.zoom(2)],
      ['+', 'Zoom in (+)', () => this.zoom(0.5)],
      ['Fit', 'The whole launch (0)', () => this.show(0, this.most)]
    ];
    for (const [text, title, act] of acts) {
      const button = element('button', 'wb-waves-button', bar, text);
      button.type = 'button';
      button.title = title;
      button.addEventListener('click', act);
    }
    element('span', 'wb-waves-hint', bar, 'drag: move · ctrl + wheel: zoom · click: the line');
    this.canvas = element('canvas', 'wb-waves-canvas', root);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    const names = this.lines.map(
      ({ header }) => `${header.name} on ${header.device}, ${whole(header.cycles)} cycles`
    );
    this.canvas.setAttribute('aria-label', `Timeline of ${names.join(' and ')}. Arrows move, + and − zoom.`);
    const legend = element('div', 'wb-waves-legend', root);
    for (const { name, hue, waits } of this.meanings.families) {
      const entry = element('span', 'wb-waves-entry', legend);
      const mark = element('i', 'wb-waves-mark', entry);
      mark.style.setProperty('--wb-hue', hue);
      mark.classList.toggle('wb-waves-waits', waits);
      entry.append(name);
    }
    element(
      'span',
      'wb-waves-hint',
      legend,
      'full: instructions, as long as their unit is busy · pale: the wave waits for that unit · red lines: barriers'
    );
    this.tip = element('div', 'wb-waves-tip', root);
    this.tip.hidden = true;
    this.tip.setAttribute('role', 'status');
    this.strip = document.createElement('canvas');
    const lanes = this.lines.reduce((sum, line) => sum + line.header.lanes.length, 0);
    this.lane = Math.max(9, Math.min(30, Math.floor(LANES_HEIGHT / Math.max(1, lanes))));
    this.rows = [];
    let y = 0;
    this.heads = this.lines.map((line, number) => {
      const head = y;
      y += HEAD;
      let simd = -1;
      line.header.lanes.forEach((lane, index) => {
        y += simd >= 0 && lane[2] !== simd ? 6 : 0;
        this.rows.push({ number, index, y, first: lane[2] !== simd, lane });
        simd = lane[2];
        y += this.lane;
      });
      y += AXIS;
      return { y: head, axis: y - AXIS };
    });
    this.height = y;
    this.canvas.style.height = `${y}px`;
  }

  listen() {
    const { canvas } = this;
    this.off = new AbortController();
    const on = (target, name, act, more) =>
      target.addEventListener(name, act, { signal: this.off.signal, ...more });
    on(canvas, 'wheel', event => this.wheel(event), { passive: false });
    on(canvas, 'pointerdown', event => this.press(event));
    on(canvas, 'pointermove', event => this.move(event));
    on(canvas, 'pointerup', event => this.release(event));
    on(canvas, 'pointerleave', () => {
      this.at = null;
      this.point(null);
    });
    on(canvas, 'dblclick', () => this.zoom(0.25));
    on(canvas, 'keydown', event => this.key(event));
    on(document, POINTED, event => this.pointedAt(event.detail));
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.root);
    this.themes = new MutationObserver(() => this.recolour());
    this.themes.observe(document.body, {
      attributes: true,
      attributeFilter: ['data-jp-theme-name', 'class']
    });
  }

  destroy() {
    this.off.abort();
    this.sizes.disconnect();
    this.themes.disconnect();
    cancelAnimationFrame(this.frame ?? 0);
    this.root.remove();
  }

  recolour() {
    const style = getComputedStyle(this.root);
    this.ink = style.getPropertyValue('--jp-ui-font-color1').trim() || style.color;
    this.faint = style.getPropertyValue('--jp-ui-font-color2').trim() || '#767c87';
    this.line = style.getPropertyValue('--jp-border-color2').trim() || '#767c8755';
    this.ask();
  }

  fit() {
    const width = this.root.clientWidth;
    this.ratio = globalThis.devicePixelRatio || 1;
    if (width && (width !== this.width || this.canvas.height !== Math.round(this.height * this.ratio))) {
      this.width = width;
      this.canvas.width = Math.round(width * this.ratio);
      this.canvas.height = Math.round(this.height * this.ratio);
      this.draw();
    }
  }

  /** Shows these cycles. */
  show(from, to) {
    const wide = Math.max(LEAST_CYCLES, Math.min(this.most, to - from));
    this.from = Math.max(0, Math.min(this.most - wide, from));
    this.to = this.from + wide;
    // Another span is under the pointer, which has not moved.
    if (this.at && !this.held) {
      this.point(this.find(this.at.offsetX, this.at.offsetY), this.at);
    }
    this.ask();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const wide = Math.max(LEAST_CYCLES, Math.min(this.most, (this.to - this.from) * factor));
    const share = (at - this.from) / (this.to - this.from);
    this.show(at - share * wide, at - share * wide + wide);
  }

  cycleAt(x) {
    return this.from + ((x - LABEL) / (this.width - LABEL)) * (this.to - this.from);
  }

  xOf(cycle) {
    return LABEL + ((cycle - this.from) / (this.to - this.from)) * (this.width - LABEL);
  }

  wheel(event) {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), this.cycleAt(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / (this.width - LABEL));
    }
  }

  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  key(event) {
    const act = {
      ArrowLeft: () => this.pan(-0.1),
      ArrowRight: () => this.pan(0.1),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.show(0, this.most),
      Home: () => this.show(0, this.most),
      Escape: () => this.choose(null)
    }[event.key];
    if (act) {
      event.preventDefault();
      event.stopPropagation();
      act();
    }
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.held = { x: event.offsetX, moved: false };
  }

  move(event) {
    if (this.held) {
      const by = event.offsetX - this.held.x;
      if (this.held.moved || Math.abs(by) > 3) {
        this.held = { x: event.offsetX, moved: true };
        this.pan(-by / (this.width - LABEL));
      }
    } else {
      this.at = { offsetX: event.offsetX, offsetY: event.offsetY };
      this.point(this.find(event.offsetX, event.offsetY), event);
    }
  }

  release(event) {
    const held = this.held;
    this.held = null;
    if (held && !held.moved) {
      this.choose(this.find(event.offsetX, event.offsetY));
    }
  }

  /** The segment at a place of the canvas. */
  find(x, y) {
    const row = this.rows.find(one => y >= one.y && y < one.y + this.lane);
    if (!row || x < LABEL) {
      return null;
    }
    const cycle = this.cycleAt(x);
    const near = ((this.to - this.from) / (this.width - LABEL)) * 2;
    const upper = y - row.y < this.lane * 0.62;
    for (const kind of upper ? [0, 1] : [1, 0]) {
      const found = this.segmentAt(row, kind, cycle, near);
      if (found) {
        return found;
      }
    }
    return null;
  }

  segmentAt(row, kind, cycle, near) {
    const line = this.lines[row.number];
    const track = 2 * row.index + kind;
    const high = line.header.tracks[track + 1];
    const i = after(line.end, cycle - near, line.header.tracks[track], high);
    if (i >= high || line.begin[i] > cycle + near) {
      return null;
    }
    return { row, line, kind, segment: i, span: line.span[i] };
  }

  /** @param {{ offsetX: number, offsetY: number } | null} event */
  point(found, event = null) {
    const before = this.pointed?.span;
    this.pointed = found;
    this.canvas.style.cursor = found ? 'pointer' : 'default';
    this.tell(found, event);
    if (before !== found?.span) {
      this.ask();
    }
  }

  choose(found) {
    this.chosen = found ? { number: found.row.number, ops: new Set([found.line.op[found.span]]) } : null;
    const place = found ? this.place(found.line, found.line.op[found.span]) : null;
    this.hooks.selected?.(place);
    document.dispatchEvent(new CustomEvent(SELECTED, { detail: place }));
    this.ask();
  }

  place(line, op) {
    const [address, text, file, number, own] = line.header.ops[op];
    return { kernel: line.header.kernel, address, text, file, line: number, own: Boolean(own) };
  }

  /** A cell or an ISA view points at a line, or at instructions, of a kernel. */
  pointedAt(link) {
    this.chosen = null;
    this.lines.forEach((line, number) => {
      if (!link || !link.kernels.includes(line.header.kernel) || !(link.line || link.addresses?.length)) {
        return;
      }
      const ops = new Set();
      line.header.ops.forEach(([address, , , at, own], op) => {
        if (link.addresses ? link.addresses.includes(address) : own && at === link.line) {
          ops.add(op);
        }
      });
      if (ops.size) {
        this.chosen = { number, ops };
      }
    });
    this.ask();
  }

  /** [lane, cycle] that a stall's wait began with: its load, or the wave that came last. */
  causeOf({ row, line, span }) {
    const cause = line.cause[span];
    if (cause < 0 || !line.reason[span]) {
      return null;
    }
    if (line.reason[span] === this.meanings.barrier) {
      return { lane: cause, cycle: line.start[span] + line.cycles[span], op: -1 };
    }
    for (let i = span - 1; i >= line.header.first[row.index]; i--) {
      if (line.op[i] === cause && !line.reason[i]) {
        return { lane: row.index, cycle: line.start[i], op: cause };
      }
    }
    return null;
  }

  tell(found, event) {
    this.tip.hidden = !found;
    if (!found || !event) {
      return;
    }
    const { line, span, row } = found;
    const { header } = line;
    const where = this.place(line, line.op[span]);
    const reason = line.reason[span];
    const cycles = whole(line.cycles[span]);
    const time = duration(line.cycles[span] / header.clock_hz, 3);
    const what = (reason ? this.meanings.reasons[reason] : this.meanings.kinds[line.kind[span]])[0];
    this.tip.replaceChildren();
    element('code', '', this.tip, where.text);
    element('div', reason ? 'wb-waves-stall' : '', this.tip, `${what}: ${cycles} cycles (${time})`);
    const cause = this.causeOf(found);
    if (cause && cause.op >= 0) {
      const load = this.place(line, cause.op);
      const ago = whole(line.start[span] - cause.cycle);
      element('div', '', this.tip, `for the load of line ${load.line || '?'}, issued ${ago} cycles before:`);
      element('code', '', this.tip, load.text);
    } else if (cause) {
      const [group, wave] = header.lanes[cause.lane];
      element('div', '', this.tip, `the last to come is wave ${group}.${wave}`);
    }
    const at = where.line ? `${where.file}:${where.line} · ` : '';
    const lane = `wave ${row.lane[0]}.${row.lane[1]}, SIMD ${row.lane[2]}`;
    element('small', '', this.tip, `${at}${lane} · from cycle ${whole(line.start[span])}`);
    const wide = this.tip.offsetWidth;
    const left =
      event.offsetX + 16 + wide > this.width ? Math.max(0, event.offsetX - wide - 12) : event.offsetX + 16;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${this.canvas.offsetTop + event.offsetY + 18}px`;
  }

  /** Draws with the next frame. */
  ask() {
    this.frame ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.frame ?? 0);
    this.frame = undefined;
    if (!this.width) {
      return;
    }
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawRows(context);
    this.lines.forEach((line, number) => {
      this.drawBarriers(context, line, number);
      this.drawHead(context, line, this.heads[number]);
    });
    context.font = '11px sans-serif';
    this.rows.forEach(row => this.drawLabel(context, row));
    this.drawWords(context);
    if (this.pointed) {
      this.drawPointed(context, this.pointed);
    }
    const wide = this.to - this.from;
    const { clock_hz: clock, provenance } = this.lines[0].header;
    this.range.textContent = `cycles ${whole(this.from)} to ${whole(this.to)}: ${duration(wide / clock, 3)}, ${provenance}`;
    this.root.dataset.drawn = String(Number(this.root.dataset.drawn ?? 0) + 1);
  }

  drawRows(context) {
    const width = Math.max(1, Math.round((this.width - LABEL) * this.ratio));
    const scale = width / (this.to - this.from);
    const count = 2 * this.rows.length;
    if (!this.pixels || this.pixels.width !== width || this.pixels.height !== count) {
      this.pixels = new ImageData(width, count);
      [this.strip.width, this.strip.height] = [width, count];
      this.sum = new Float32Array(4 * width);
    }
    const { data } = this.pixels;
    this.rows.forEach((row, at) => {
      const line = this.lines[row.number];
      const dim = this.dimmed(row);
      for (const kind of [0, 1]) {
        const track = 2 * row.index + kind;
        const { sum } = this;
        sum.fill(0);
        const { tracks, cycles } = line.header;
        const many = ((tracks[track + 1] - tracks[track]) / cycles) * (this.to - this.from);
        const fine = BINS / cycles >= scale / 1.01;
        if (!dim && fine && many > CROWDED * width) {
          paintBins(line, track, this.from, scale, width, sum, this.colours);
        } else {
          paint(line, track, this.from, scale, width, sum, this.colours, dim);
        }
        const full = kind ? 255 * this.meanings.pale : 255;
        for (let x = 0, to = 4 * width * (2 * at + kind); x < 4 * width; x += 4, to += 4) {
          const cover = sum[x + 3];
          if (cover > 0) {
            data[to] = sum[x] / cover;
            data[to + 1] = sum[x + 1] / cover;
            data[to + 2] = sum[x + 2] / cover;
            data[to + 3] = Math.min(1, cover) * full;
          } else {
            data[to + 3] = 0;
          }
        }
      }
    });
    this.strip.getContext('2d')?.putImageData(this.pixels, 0, 0);
    context.imageSmoothingEnabled = false;
    this.rows.forEach((row, at) => {
      for (const kind of [0, 1]) {
        const [y, height] = this.part(row, kind);
        context.drawImage(this.strip, 0, 2 * at + kind, width, 1, LABEL, y, this.width - LABEL, height);
      }
    });
  }

  /** Top and height of a lane's track. */
  part(row, kind) {
    const space = this.lane - 2;
    const upper = Math.round(space * 0.64);
    return kind ? [row.y + upper + 0.5, space - upper - 0.5] : [row.y, upper];
  }

  /** Flags of the selected instructions of a row, all others being dim; null if none is. */
  dimmed({ number }) {
    return this.chosen?.number === number ? this.flags(this.lines[number]) : null;
  }

  flags(line) {
    if (this.chosen.flags?.length !== line.header.ops.length) {
      this.chosen.flags = new Uint8Array(line.header.ops.length);
      this.chosen.ops.forEach(op => (this.chosen.flags[op] = 1));
    }
    return this.chosen.flags;
  }

  drawBarriers(context, line, number) {
    const { barriers } = line.header;
    const seen = barriers.filter(([cycle]) => cycle >= this.from && cycle <= this.to);
    const apart = (this.width - LABEL) / Math.max(1, seen.length);
    if (apart < 4) {
      return;
    }
    context.strokeStyle = this.meanings.families[this.meanings.reasons[this.meanings.barrier][1]].hue;
    context.lineWidth = apart < 16 ? 0.5 : 1;
    context.beginPath();
    for (const [cycle, group] of seen) {
      const own = this.rows.filter(row => row.number === number && row.lane[0] === group);
      const x = this.xOf(cycle);
      context.moveTo(x, own[0].y);
      context.lineTo(x, own[own.length - 1].y + this.lane - 2);
    }
    context.stroke();
  }

  drawHead(context, { header }, { y, axis }) {
    context.fillStyle = this.ink;
    context.font = '600 13px sans-serif';
    context.fillText(`${header.name} on ${header.device}`, 0, y + 14, this.width);
    context.fillStyle = this.faint;
    context.font = '11px sans-serif';
    const time = duration(header.cycles / header.clock_hz, 4);
    const lost = header.lost
      ? `, the first ${whole(header.count)} of ${whole(header.count + header.lost)} spans`
      : '';
    context.fillText(
      `${header.lanes.length} wave${header.lanes.length === 1 ? '' : 's'} of a compute unit, ${whole(header.cycles)} cycles, ${time} at ` +
        `${whole(header.clock_hz / 1e6)} MHz (${header.provenance})${lost}`,
      0,
      y + 30,
      this.width
    );
    const wide = this.to - this.from;
    const least = (wide / (this.width - LABEL)) * 90;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = Math.max(1, [1, 2, 5, 10].map(k => k * power).find(k => k >= least) ?? 10 * power);
    context.strokeStyle = this.line;
    context.lineWidth = 1;
    context.textAlign = 'center';
    for (let cycle = Math.ceil(this.from / step) * step; cycle <= this.to; cycle += step) {
      const x = this.xOf(cycle);
      context.beginPath();
      context.moveTo(x, axis);
      context.lineTo(x, axis + 4);
      context.stroke();
      const half = context.measureText(whole(cycle)).width / 2;
      context.fillText(whole(cycle), Math.max(LABEL + half, Math.min(this.width - half, x)), axis + 16);
    }
    context.textAlign = 'right';
    context.fillText('cycle', LABEL - 34, axis + 16);
    context.textAlign = 'left';
  }

  drawLabel(context, { y, first, lane }) {
    const middle = y + this.lane / 2 + 3;
    context.fillStyle = this.faint;
    if (first) {
      context.fillText(`SIMD ${lane[2]}`, 0, middle);
    }
    context.textAlign = 'right';
    context.fillText(`${lane[0]}.${lane[1]}`, LABEL - 8, middle);
    context.textAlign = 'left';
  }

  /** Names of instructions and reasons, if there is room. */
  drawWords(context) {
    const scale = (this.width - LABEL) / (this.to - this.from);
    context.font = '10px sans-serif';
    for (const row of this.rows) {
      const line = this.lines[row.number];
      const dim = this.dimmed(row);
      const [y, height] = this.part(row, 0);
      if (height < 11 || scale * 16 < 40) {
        return;
      }
      const track = 2 * row.index;
      const high = line.header.tracks[track + 1];
      for (let i = after(line.end, this.from, line.header.tracks[track], high); i < high; i++) {
        if (line.begin[i] >= this.to) {
          break;
        }
        const x0 = Math.max(LABEL, this.xOf(line.begin[i]));
        const x1 = Math.min(this.width, this.xOf(line.end[i]));
        if (x1 - x0 > 40) {
          const op = line.op[line.span[i]];
          context.fillStyle = dim && !dim[op] ? this.faint : '#10131a';
          const text = line.header.ops[op][1].split(' ', 1)[0];
          const fits = context.measureText(text).width <= x1 - x0 - 6;
          const most = Math.max(3, Math.floor((x1 - x0 - 8) / 6));
          context.fillText(fits ? text : `${text.slice(0, most)}…`, x0 + 3, y + height / 2 + 3.5);
        }
      }
    }
  }

  drawPointed(context, found) {
    const { row, line, segment, kind } = found;
    const [y, height] = this.part(row, kind);
    const x0 = Math.max(LABEL, this.xOf(line.begin[segment]));
    const x1 = Math.min(this.width, Math.max(x0 + 2, this.xOf(line.end[segment])));
    context.strokeStyle = this.ink;
    context.lineWidth = 1.5;
    context.strokeRect(x0, y - 0.5, x1 - x0, height + 1);
    const cause = this.causeOf(found);
    if (cause) {
      const other = this.rows.find(one => one.number === row.number && one.index === cause.lane);
      const x = Math.max(LABEL, Math.min(this.width, this.xOf(cause.cycle)));
      this.arrow(context, [cause.op < 0 ? x1 : x0, y + height / 2], [x, this.part(other, 0)[0] + 3]);
    }
  }

  arrow(context, [x0, y0], [x1, y1]) {
    const lift = Math.abs(x1 - x0) > 24 ? Math.min(y0, y1) - this.lane : (y0 + y1) / 2;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0, lift, x1, lift, x1, y1);
    context.stroke();
    const down = y1 >= lift ? -1 : 1;
    context.fillStyle = this.ink;
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 4, y1 + 7 * down);
    context.lineTo(x1 + 4, y1 + 7 * down);
    context.fill();
  }
}

function render({ model, el }) {
  /** @type {Waves | null} */
  let waves = null;
  const make = (message, buffers) => {
    if (message?.type !== 'timelines') {
      return;
    }
    waves?.destroy();
    waves = null;
    const content = JSON.parse(new TextDecoder().decode(buffers[0]));
    if (content.timelines?.length) {
      waves = new Waves(el, content, buffers[1], {
        selected: place => {
          model.set('selected', place ?? {});
          model.save_changes();
        }
      });
    }
  };
  // Not traits of the widget: a notebook that keeps its widgets' state would keep megabytes.
  const ask = () => model.send({ type: 'timelines' });
  model.on('msg:custom', make);
  model.on('change:version', ask);
  ask();
  const show = hideCopies(el);
  return () => {
    model.off('msg:custom', make);
    model.off('change:version', ask);
    waves?.destroy();
    show();
  };
}

export default { render };
