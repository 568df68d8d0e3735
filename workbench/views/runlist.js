// The runs of a dashboard: kernels that unfold, their sessions, one line per run. Actions are sent to the kernel, which
// answers with another list; open entries and typed text stay as they are.
function element(name, className = '', text = '') {
  const made = document.createElement(name);
  if (className) {
    made.className = className;
  }
  if (text) {
    made.textContent = text;
  }
  return made;
}

/** @param {boolean | null} pressed - null for a button that is not a toggle. */
function button(text, label, act, pressed = null) {
  const made = element('button', 'wb-act', text);
  made.type = 'button';
  made.title = label;
  made.setAttribute('aria-label', label);
  if (pressed !== null) {
    made.setAttribute('aria-pressed', String(pressed));
  }
  made.addEventListener('click', event => {
    event.stopPropagation();
    act();
  });
  return made;
}

/** A count as the rest of the page writes it: 1,000. */
function grouped(count) {
  return count.toLocaleString('en-US');
}

function runs(state) {
  return state.kernels.flatMap(({ name, sessions }) =>
    sessions.flatMap(session => session.runs.map(run => ({ run, kernel: name })))
  );
}

// Effect of each action on the list.
const EXPECTED = {
  show: (state, { number }) => {
    state.shown = number;
  },
  pin: (state, { number }) => {
    const found = runs(state).find(({ run }) => run.number === number);
    const name = `${found.kernel} #${number}`;
    state.shown = number;
    state.compared = name;
    found.run.names.push(name);
    state.baselines.push({ name, text: `${name}: ${found.run.us} us` });
  },
  unpin: (state, { name }) => {
    state.baselines = state.baselines.filter(baseline => baseline.name !== name);
    runs(state).forEach(({ run }) => {
      run.names = run.names.filter(each => each !== name);
    });
  },
  compare: (state, { name }) => {
    state.compared = name;
  }
};

// Rows of a kernel that are created at first: of a thousand, nine hundred are never looked at.
const ROWS = 60;

class List {
  constructor(model, root) {
    this.model = model;
    this.open = new Map();
    this.all = new Set();
    this.bar = element('div', 'wb-baselines');
    this.bar.setAttribute('role', 'group');
    this.bar.setAttribute('aria-label', 'baselines');
    this.filter = element('input', 'wb-filter');
    this.filter.type = 'search';
    this.filter.placeholder = 'filter by kernel, shape or baseline';
    this.filter.setAttribute('aria-label', 'filter runs');
    this.filter.addEventListener('input', () => this.draw());
    this.body = element('div', 'wb-kernels');
    root.append(this.bar, this.filter, this.body);
    this.take = this.take.bind(this);
    this.answered = message => message?.type === 'done' && this.take();
    model.on('change:runs', this.take);
    model.on('msg:custom', this.answered);
    this.body.addEventListener('keydown', event => this.key(event));
    this.take();
  }

  take() {
    this.state = JSON.parse(this.model.get('runs') || '{"kernels":[],"baselines":[],"failed":[],"none":""}');
    this.draw();
  }

  // The page shows the expected result at once, while the kernel may be running a cell; its answer then gives the
  // actual state.
  send(what, more) {
    this.model.send({ do: what, ...more });
    EXPECTED[what]?.(this.state, more);
    this.draw();
  }

  // Up and down move from run to run, as in any list.
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...this.body.querySelectorAll('details[open] > table .wb-show')];
    const at = rows.indexOf(document.activeElement);
    if (step && at >= 0) {
      event.preventDefault();
      rows[Math.max(0, Math.min(rows.length - 1, at + step))].focus();
    }
  }

  draw() {
    const active = document.activeElement;
    const focused = active instanceof HTMLElement && this.body.contains(active) ? active.dataset.focus : null;
    this.drawBaselines();
    const wanted = this.filter.value.trim().toLowerCase();
    const kernels = this.state.kernels
      .map((kernel, index) => this.kernel(kernel, index, wanted))
      .filter(Boolean);
    this.filter.hidden = this.state.kernels.length === 0;
    this.body.replaceChildren(...kernels);
    if (!kernels.length) {
      const text = this.state.kernels.length ? 'no run matches' : this.state.none;
      this.body.append(element('p', 'wb-none', text));
    }
    if (focused) {
      this.body.querySelector(`[data-focus='${focused}']`)?.focus();
    }
  }

  drawBaselines() {
    const { baselines, compared } = this.state;
    const chips = baselines.map(({ name, text }) => {
      const chip = element('span', 'wb-chip');
      const on = name === compared;
      chip.append(
        button(
          text,
          on ? `Compare with no baseline` : `Compare with ${name}`,
          () => this.send('compare', { name: on ? '' : name }),
          on
        ),
        button('×', `Unpin ${name}`, () => this.send('unpin', { name }))
      );
      return chip;
    });
    this.bar.replaceChildren(...(chips.length ? [element('span', 'wb-label', 'baselines'), ...chips] : []));
  }

  kernel({ name, sessions }, index, wanted) {
    const found = sessions
      .map(session => ({ ...session, runs: session.runs.filter(run => this.fits(run, name, wanted)) }))
      .filter(({ runs }) => runs.length);
    if (!found.length) {
      return null;
    }
    const shown = found.some(({ runs }) => runs.some(run => run.number === this.state.shown));
    const details = element('details');
    details.open = this.open.get(name) ?? (shown || index === 0 || wanted !== '');
    // Rows are created when they become visible.
    let filled = false;
    const fill = () => {
      if (!filled) {
        filled = true;
        details.append(...this.sessions(found, name));
      }
    };
    details.addEventListener('toggle', () => {
      this.open.set(name, details.open);
      if (details.open) {
        fill();
      }
    });
    const summary = element('summary');
    const count = sessions.reduce((sum, session) => sum + session.count, 0);
    const times = `${grouped(count)} run${count === 1 ? '' : 's'}, ${sessions.length} session${sessions.length === 1 ? '' : 's'}`;
    summary.append(element('b', '', name), element('span', 'wb-label', times));
    details.append(summary);
    if (details.open) {
      fill();
    }
    return details;
  }

  // The sessions of a kernel: as many rows as are visible, the shown run's among them, and a button for the others.
  sessions(found, name) {
    const total = found.reduce((sum, { runs }) => sum + runs.length, 0);
    const whole = this.all.has(name) || total <= ROWS;
    let left = whole ? total : ROWS;
    const made = [];
    for (const session of found) {
      const seen = session.runs.filter((run, index) => index < left || run.number === this.state.shown);
      left = Math.max(0, left - session.runs.length);
      if (seen.length) {
        made.push(this.session({ ...session, runs: seen }, name));
      }
    }
    if (!whole) {
      const more = button(
        `show all ${grouped(total)} runs`,
        `Show all ${grouped(total)} runs of ${name}`,
        () => {
          this.all.add(name);
          this.draw();
        }
      );
      more.classList.add('wb-more');
      made.push(more);
    }
    return made;
  }

  fits({ shape, names, number }, kernel, wanted) {
    return `${kernel} ${shape} ${names.join(' ')} #${number}`.toLowerCase().includes(wanted);
  }

  session({ label, count, runs }, kernel) {
    const table = element('table', 'wb-session');
    const more = count > runs.length ? `, ${runs.length} of ${grouped(count)}` : '';
    table.append(element('caption', '', `${label}${more}`));
    const body = element('tbody');
    body.append(...runs.map(run => this.run(run, kernel)));
    table.append(body);
    return table;
  }

  run(run, kernel) {
    const row = element('tr');
    if (run.findings !== undefined) {
      return this.sanitized(run, row);
    }
    const shown = run.number === this.state.shown;
    row.classList.toggle('wb-shown', shown);
    const show = button(`#${run.number}`, `Show run ${run.number} of ${kernel}`, () =>
      this.send('show', { number: run.number })
    );
    show.classList.add('wb-show');
    show.dataset.focus = `show-${run.number}`;
    show.setAttribute('aria-current', String(shown));
    const verified = { true: ['✓', 'verified', 'wb-ok'], false: ['✗', 'wrong', 'wb-bad'] }[run.verified] ?? [
      '',
      '',
      ''
    ];
    const check = element('span', verified[2], verified[0]);
    check.title = verified[1];
    const stale = element('span', 'wb-stale-mark', run.stale ? 'stale' : '');
    stale.title = run.stale;
    const acts = element('span', 'wb-acts');
    const pinned = run.names.length > 0;
    const star = pinned
      ? button('★', `Unpin run ${run.number}`, () => this.send('unpin', { name: run.names[0] }), true)
      : button(
          '☆',
          `Pin run ${run.number} as a baseline`,
          () => this.send('pin', { number: run.number }),
          false
        );
    star.dataset.focus = `pin-${run.number}`;
    acts.append(star);
    if (!shown) {
      const diff = button('Δ', `What changed from run ${run.number} to the shown one`, () =>
        this.send('changes', { number: run.number })
      );
      diff.dataset.focus = `diff-${run.number}`;
      acts.append(diff);
    }
    // A narrow page cuts off what tells least: the most important columns come first.
    const cells = {
      number: show,
      us: `${run.us} us`,
      origin: run.origin,
      verified: check,
      stale,
      acts,
      shape: run.shape,
      device: run.device,
      when: run.when
    };
    for (const [name, content] of Object.entries(cells)) {
      const cell = element('td', `wb-run-${name}`);
      cell.append(content);
      if (name === 'us' || name === 'origin') {
        cell.title = run.hint;
      }
      row.append(cell);
    }
    row.addEventListener('click', () => this.send('show', { number: run.number }));
    return row;
  }

  // Sanitized runs have findings instead of a time, and nothing to show or compare.
  sanitized(run, row) {
    const verdict = element('span', run.findings ? 'wb-bad' : 'wb-ok', run.text);
    verdict.title = run.hint;
    const cells = {
      number: `#${run.number}`,
      us: verdict,
      origin: 'sanitized',
      verified: '',
      stale: '',
      acts: '',
      shape: run.shape,
      device: run.device,
      when: run.when
    };
    for (const [name, content] of Object.entries(cells)) {
      const cell = element('td', `wb-run-${name}`);
      cell.append(content);
      row.append(cell);
    }
    return row;
  }

  remove() {
    this.model.off('change:runs', this.take);
    this.model.off('msg:custom', this.answered);
  }
}

function render({ model, el }) {
  el.classList.add('wb-runlist');
  const list = new List(model, el);
  return () => list.remove();
}

export default { render };
