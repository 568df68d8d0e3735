// The page of a stepper: source and machine code side by side, and under them the effects of the last instruction.
//
// Python has the tape. The page asks for each step and draws the answer; a line and its instructions share a colour.
const KEYS = {
  s: ['step', 1],
  S: ['back', 1],
  n: ['next'],
  N: ['previous'],
  c: ['run'],
  C: ['run_back'],
  r: ['to', 'barrier'],
  R: ['back_to', 'barrier'],
  w: ['to', 'wait'],
  W: ['back_to', 'wait']
};
const BUTTONS = [
  ['S', '◂', 'Back one instruction'],
  ['s', '▸', 'Step one instruction'],
  ['N', '◂ line', 'Back to the line before'],
  ['n', 'line ▸', 'On to the next line'],
  ['C', '◂ run', 'Back to the breakpoint before'],
  ['c', 'run ▸', 'On to the next breakpoint, or to the end'],
  ['r', 'barrier ▸', 'On to the next barrier'],
  ['w', 'wait ▸', 'On to the next wait']
];
const HUES = [210, 28, 160, 325, 255, 50, 190, 0];

/** The colour of a line and of its instructions; none for instructions without a line. */
export function hue(line) {
  return line ? `hsl(${HUES[line % HUES.length]} 60% 50%)` : 'transparent';
}

/** A number's colour on a scale from the least to the greatest; of both signs, blue below zero and red above. */
export function shade(value, low, high) {
  if (typeof value !== 'number') {
    return '#d81bd8';
  }
  if (low < 0 && high > 0) {
    const part = value / Math.max(-low, high);
    return part < 0 ? `hsl(210 70% ${92 + 50 * part}%)` : `hsl(10 75% ${92 - 46 * part}%)`;
  }
  if (high === low) {
    return '#8887';
  }
  const part = (value - low) / (high - low);
  return `hsl(${250 - 190 * part} 60% ${30 + 45 * part}%)`;
}

/** The least and the greatest of the values that are numbers. */
export function ends(values) {
  const numbers = values.filter(value => typeof value === 'number');
  return numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : [0, 0];
}

function element(kind, name, text) {
  const made = document.createElement(kind);
  if (name) {
    made.className = name;
  }
  if (text !== undefined) {
    made.textContent = text;
  }
  return made;
}

function labelled(title, ...children) {
  const made = element('section');
  made.append(element('h4', '', title), ...children);
  return made;
}

class Page {
  constructor(model, el) {
    this.model = model;
    this.tile = '';
    this.root = element('div', 'wb-step');
    this.root.tabIndex = 0;
    this.root.setAttribute('role', 'application');
    this.root.setAttribute(
      'aria-label',
      'A wave, step by step. Keys: s, n, c; with shift backward; b for a breakpoint'
    );
    this.bar = element('div', 'wb-step-bar');
    this.panes = element('div', 'wb-step-panes');
    this.under = element('div', 'wb-step-under');
    this.error = element('div', 'wb-step-error');
    this.error.setAttribute('role', 'status');
    this.root.append(this.bar, this.error, this.panes, this.under);
    el.append(this.root);
    // JupyterLab's own keys, such as those that change a cell, must not act here.
    this.root.dataset.lmSuppressShortcuts = 'true';
    this.root.addEventListener('keydown', event => this.key(event));
  }

  ask(what, value) {
    this.model.send({ do: what, value, tile: this.tile });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select')) {
      return;
    }
    if (event.key === 'b') {
      this.ask('break', this.moved.line);
    } else if (KEYS[event.key]) {
      this.ask(...KEYS[event.key]);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  begin(fixed) {
    this.fixed = fixed;
    this.bar.replaceChildren();
    const keys = element('span', 'wb-step-keys');
    for (const [key, text, title] of BUTTONS) {
      const button = element('button', '', text);
      button.title = `${title} (${key})`;
      button.setAttribute('aria-label', title);
      button.addEventListener('click', () => this.ask(...KEYS[key]));
      keys.append(button);
    }
    this.slider = element('input');
    this.slider.type = 'range';
    this.slider.min = 0;
    this.slider.setAttribute('aria-label', 'instruction of the wave');
    this.slider.addEventListener('change', () => this.ask('goto', Number(this.slider.value)));
    this.at = element('span', 'wb-step-at');
    this.waves = element('span', 'wb-step-keys');
    this.waves.setAttribute('role', 'group');
    this.waves.setAttribute('aria-label', 'waves');
    this.bar.append(keys, this.slider, this.at, this.waves);
    this.source = this.pane(
      'wb-step-source',
      'source',
      fixed.source.map((text, at) => [fixed.first + at, text, fixed.first + at])
    );
    this.code = this.pane('wb-step-code', 'machine code', fixed.code);
    const lines = new Set(fixed.code.map(row => row[2]));
    this.source.forEach((row, at) => {
      const line = fixed.first + at;
      row.style.borderLeftColor = lines.has(line) ? hue(line) : 'transparent';
      if (lines.has(line)) {
        row.firstChild.title = 'Breakpoint';
        row.firstChild.addEventListener('click', () => this.ask('break', line));
      }
    });
  }

  pane(name, label, rows) {
    const pane = element('div', `wb-step-pane ${name}`);
    pane.tabIndex = 0;
    pane.setAttribute('role', 'region');
    pane.setAttribute('aria-label', label);
    const made = rows.map(([number, text, line]) => {
      const row = element('div', 'wb-step-row');
      row.style.borderLeftColor = hue(line);
      row.append(element('span', 'wb-step-number', String(number)), element('span', '', text));
      pane.append(row);
      return row;
    });
    this.panes.append(pane);
    return made;
  }

  move(moved) {
    this.moved = moved;
    this.error.textContent = moved.error;
    this.slider.max = moved.length;
    this.slider.value = moved.position;
    const where = moved.line ? `line ${moved.line}` : moved.position === moved.length ? 'at the end' : '';
    this.at.textContent =
      `${moved.position.toLocaleString('en-US')} of ${moved.length.toLocaleString('en-US')}, ${where}` +
      (moved.cut && moved.position === moved.length ? ' (the tape was full)' : '');
    this.waves.replaceChildren(
      ...moved.waves.map(([state, line, done], number) => {
        const button = element('button', '', `wave ${number}`);
        button.title = `${state}${line ? `, line ${line}` : ''}; ${done.toLocaleString('en-US')} instructions run`;
        button.setAttribute('aria-pressed', String(number === moved.wave));
        button.addEventListener('click', () => this.ask('choose', number));
        return button;
      })
    );
    const here = moved.here.map(at => this.fixed.rows[at]);
    const last = moved.last.map(at => this.fixed.rows[at]);
    this.mark(
      this.code,
      row => (here.includes(row) ? 'wb-here' : last.includes(row) ? 'wb-last' : ''),
      here[0]
    );
    const line = moved.line - this.fixed.first;
    this.mark(this.source, row => (row === line ? 'wb-here' : ''), line);
    this.source.forEach((row, at) => {
      row.firstChild.classList.toggle('wb-break', moved.breakpoints.includes(this.fixed.first + at));
    });
    this.under.replaceChildren(this.changes(), this.requests(), this.variables());
    if (moved.tile) {
      this.under.append(this.matrix(moved.tile));
    }
  }

  mark(rows, kind, seen) {
    rows.forEach((row, at) => {
      row.classList.remove('wb-here', 'wb-last');
      const name = kind(at);
      if (name) {
        row.classList.add(name);
      }
    });
    const row = rows[seen];
    if (row) {
      const pane = row.parentElement;
      const top = row.offsetTop - pane.offsetTop;
      if (top < pane.scrollTop + 20 || top > pane.scrollTop + pane.clientHeight - 40) {
        pane.scrollTop = top - pane.clientHeight / 2;
      }
    }
  }

  changes() {
    const grid = element('div', 'wb-step-lanes');
    for (const change of this.moved.changed) {
      grid.append(element('span', '', change.name));
      if (!change.lanes) {
        grid.append(element('span', '', change.text));
        continue;
      }
      const strip = element('div', 'wb-step-strip');
      const [low, high] = ends(change.lanes);
      strip.setAttribute('role', 'img');
      strip.setAttribute('aria-label', `${change.name} of ${change.lanes.length} lanes, ${low} to ${high}`);
      change.lanes.forEach((value, lane) => {
        const cell = element('span', change.changed[lane] ? '' : 'wb-same');
        cell.style.background = shade(value, low, high);
        cell.title = `lane ${lane}: ${value === null ? 'no number' : value} (0x${change.bits[lane]})`;
        strip.append(cell);
      });
      grid.append(strip);
    }
    const none = this.moved.position ? 'nothing' : 'nothing has run yet';
    const more = this.moved.more ? [element('div', 'wb-step-dim', `and ${this.moved.more} more`)] : [];
    const empty = this.moved.changed.length ? [] : [element('div', 'wb-step-dim', none)];
    const lanes = /^f+$/.test(this.moved.exec)
      ? `all ${4 * this.moved.exec.length} lanes on`
      : `lanes on 0x${this.moved.exec}`;
    return labelled(`Changed by the last instruction; ${lanes}`, grid, ...more, ...empty);
  }

  requests() {
    const made = element('div');
    for (const access of this.moved.accesses) {
      const conflict = access.banks ? `, ${access.conflicts} cycles of bank conflicts` : '';
      const range = access.range ? `, ${access.range}` : '';
      made.append(
        element(
          'div',
          '',
          `${access.what}: ${access.lanes} lanes of ${access.bytes} bytes${range}${conflict}`
        )
      );
      if (access.banks) {
        const strip = element('div', 'wb-step-strip');
        strip.setAttribute('role', 'img');
        strip.setAttribute(
          'aria-label',
          `words of each of ${access.banks.length} banks in one phase, at most ${Math.max(...access.banks)}`
        );
        access.banks.forEach((words, bank) => {
          const cell = element('span');
          cell.style.background = words === 0 ? 'transparent' : words === 1 ? '#2a9d77' : '#d2555f';
          cell.style.outline = '1px solid #8886';
          cell.title = `bank ${bank}: ${words} words in one phase`;
          strip.append(cell);
        });
        made.append(strip);
      }
    }
    for (const [counter, instructions] of this.moved.waiting) {
      made.append(element('div', '', `${counter} ${instructions.length}`));
      const list = element('ul', 'wb-step-list');
      for (const [text, line] of instructions.slice(-6)) {
        const item = element('li', 'wb-step-dim', `${text}${line ? `  (line ${line})` : ''}`);
        item.style.borderLeft = `4px solid ${hue(line)}`;
        item.style.paddingLeft = '4px';
        list.append(item);
      }
      made.append(list);
    }
    return labelled('Memory, and what may still be under way on a GPU', made);
  }

  variables() {
    const list = element('ul', 'wb-step-list');
    for (const [name, type, place, value, isTile] of this.moved.variables) {
      const item = element('li');
      item.title = `${type}, ${place}`;
      if (isTile) {
        const button = element('button', '', name);
        button.setAttribute('aria-pressed', String(this.tile === name));
        button.addEventListener('click', () => {
          this.tile = this.tile === name ? '' : name;
          this.ask('look');
        });
        item.append(button, ` ${type}`);
      } else {
        item.append(`${name} = ${value}`);
      }
      list.append(item);
    }
    const none = element(
      'div',
      'wb-step-dim',
      'none that the debug information has here; wb.step(..., debug=True) has all'
    );
    return labelled('Variables', this.moved.variables.length ? list : none);
  }

  matrix(tile) {
    if (tile.error) {
      return labelled(tile.name, element('div', 'wb-step-dim', tile.error));
    }
    const [low, high] = ends(tile.values);
    const size = Math.max(2, Math.min(12, Math.floor(384 / Math.max(tile.cols, tile.rows))));
    const canvas = element('canvas');
    canvas.width = tile.cols * size;
    canvas.height = tile.rows * size;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `${tile.name}: ${tile.rows} x ${tile.cols}, ${low} to ${high}`);
    const context = canvas.getContext('2d');
    tile.values.forEach((value, at) => {
      context.fillStyle = shade(value, low, high);
      context.fillRect((at % tile.cols) * size, Math.floor(at / tile.cols) * size, size, size);
    });
    const readout = element('div', 'wb-step-dim', `${tile.rows} x ${tile.cols}, ${low} to ${high}`);
    canvas.addEventListener('mousemove', event => {
      const box = canvas.getBoundingClientRect();
      const col = Math.floor(((event.clientX - box.left) / box.width) * tile.cols);
      const row = Math.floor(((event.clientY - box.top) / box.height) * tile.rows);
      const at = row * tile.cols + col;
      if (at >= 0 && at < tile.values.length) {
        readout.textContent = `[${row}, ${col}] ${tile.values[at]}; ${tile.places[at]}`;
      }
    });
    return labelled(tile.name, canvas, readout);
  }
}

function render({ model, el }) {
  const page = new Page(model, el);
  model.on('msg:custom', message => {
    if (message.type === 'fixed') {
      page.begin(message);
    } else if (message.type === 'moved' && page.fixed) {
      page.move(message);
    }
  });
  page.ask('begin');
}

export default { render };
