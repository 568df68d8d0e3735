// The figures of a dashboard: cards that fill the width, each a plotly figure with its data under it.
//
// Every figure is a trait of its own, JSON, so only those that changed travel. plotly itself comes from the
// kernel's package, once a page and not once a figure: it is five megabytes. A figure that is not in view waits
// until it is. While this is on the page, the copy that is saved with the notebook is hidden; without a kernel
// this code never runs, so a notebook that is reopened from disk shows the copy.
const PLOTLY = Symbol.for('hipkittens-workbench.plotly');
// The figures' own colour of text is readable on light and dark; a page that has a theme knows a better one.
const INK = /#767c87/g;
const TITLE = '--jp-ui-font-color1';
const TEXT = '--jp-ui-font-color2';

// Its promise is the page's, and every widget that needs it meanwhile asks its own kernel: one that ends before
// it answers would leave the cards of all later ones blank.
function plotly(model) {
  const wanted = (globalThis[PLOTLY] ??= resolvers());
  if (!wanted.found && !wanted.asked.has(model)) {
    wanted.asked.add(model);
    ask(model, wanted);
  }
  return wanted.promise;
}

function resolvers() {
  const wanted = { asked: new WeakSet(), found: false };
  wanted.promise = new Promise((resolve, reject) => Object.assign(wanted, { resolve, reject }));
  return wanted;
}

function ask(model, wanted) {
  const heard = (message, buffers) => {
    if (message?.type !== 'plotly') {
      return;
    }
    model.off('msg:custom', heard);
    if (wanted.found) {
      return;
    }
    const before = globalThis.Plotly;
    try {
      const module = { exports: {} };
      const source = new TextDecoder().decode(buffers[0]);
      new Function('module', 'exports', source)(module, module.exports);
      wanted.found = true;
      wanted.resolve(module.exports);
    } catch (error) {
      globalThis[PLOTLY] = undefined;
      wanted.reject(error);
    }
    // The script leaves its name behind; whoever had it keeps it.
    globalThis.Plotly = before;
  };
  model.on('msg:custom', heard);
  model.send({ type: 'plotly' });
}

// One figure after the other, each in a task of its own: the result of a click is painted in between.
let turn = Promise.resolve();

function inTurn(draw) {
  const before = turn;
  turn = before.then(() => new Promise(resolve => setTimeout(resolve))).then(draw);
  return turn;
}

const ACTS = [
  ['alone', '⤢', 'Show this card alone, or all again'],
  ['before', '←', 'Move this card forward'],
  ['after', '→', 'Move this card back'],
  ['hide', '✕', 'Hide this card']
];

class Card {
  constructor(model, key, root, acts) {
    this.model = model;
    this.key = key;
    this.alone = false;
    this.title = key;
    this.lasts = false;
    this.wanted = null;
    this.visible = false;
    this.drawing = false;
    this.card = document.createElement('figure');
    this.card.className = 'wb-card';
    this.card.dataset.key = key;
    this.plot = document.createElement('div');
    this.plot.className = 'wb-plot';
    this.table = document.createElement('div');
    this.table.className = 'wb-table';
    const foot = document.createElement('div');
    foot.className = 'wb-foot';
    this.mark = document.createElement('span');
    this.mark.className = 'wb-stale-mark';
    this.tools = ACTS.map(([act, sign, label]) => {
      const tool = document.createElement('button');
      tool.type = 'button';
      tool.className = 'wb-tool';
      tool.dataset.act = act;
      tool.textContent = sign;
      tool.title = label;
      tool.addEventListener('click', () => acts[act](this));
      return tool;
    });
    foot.append(this.table, this.mark, ...this.tools);
    this.card.append(this.plot, foot);
    root.append(this.card);
    this.take = this.take.bind(this);
    this.trait = `figure_${key}`;
    model.on(`change:${this.trait}`, this.take);
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.plot);
    this.views = new IntersectionObserver(
      entries => {
        this.visible = entries[entries.length - 1].isIntersecting;
        this.draw();
      },
      { rootMargin: '200px' }
    );
    this.views.observe(this.card);
    this.take();
  }

  // Redraws in the colours of another theme, or at another size.
  recolour(resized = false) {
    if (this.model.get(this.trait) && (resized || this.colours !== this.theme().join())) {
      this.wanted = this.read();
      this.draw();
    }
  }

  theme() {
    const style = getComputedStyle(this.card);
    return [TEXT, TITLE].map(name => style.getPropertyValue(name).trim());
  }

  read() {
    const [text, title] = this.theme();
    this.colours = [text, title].join();
    const given = this.model.get(this.trait);
    const wanted = JSON.parse(text ? given.replace(INK, text) : given);
    if (title && wanted.figure.layout.title) {
      wanted.figure.layout.title.font = { ...wanted.figure.layout.title.font, color: title };
    }
    return wanted;
  }

  take() {
    if (this.model.get(this.trait)) {
      this.wanted = this.read();
      this.title = this.wanted.title;
      this.lasts = this.wanted.lasts;
      this.card.setAttribute('aria-label', this.title);
      this.sentence = this.wanted.sentence;
      this.empty = this.wanted.figure.data.length === 0;
      this.card.classList.toggle('wb-empty', this.empty);
      this.describe();
      this.tools.forEach((tool, index) =>
        tool.setAttribute('aria-label', `${ACTS[index][2]}: ${this.title}`)
      );
      const open = this.table.querySelector('details')?.open ?? false;
      this.table.innerHTML = this.wanted.table;
      const details = this.table.querySelector('details');
      if (details) {
        details.open = open;
      }
      this.draw();
    }
  }

  // plotly's buttons stand in the plot, so the picture is the drawing in it; its layers are one picture.
  describe() {
    const [drawing, ...layers] = this.plot.querySelectorAll('.main-svg');
    for (const layer of layers) {
      layer.setAttribute('aria-hidden', 'true');
    }
    if (drawing) {
      this.plot.removeAttribute('role');
      this.plot.removeAttribute('aria-label');
    }
    const picture = drawing ?? this.plot;
    picture.setAttribute('role', 'img');
    picture.setAttribute('aria-label', this.sentence);
  }

  async draw() {
    if (!this.wanted || !this.visible || this.drawing) {
      return;
    }
    if (this.empty) {
      this.clear();
      return;
    }
    this.drawing = true;
    const Plotly = await plotly(this.model).catch(error => this.failed(error));
    if (Plotly) {
      await inTurn(() => this.put(Plotly));
    }
    this.drawing = false;
    this.fit();
    this.draw();
  }

  // Nothing to show takes a line, not the height of a figure.
  clear() {
    this.wanted = null;
    this.plot.style.minHeight = '';
    if (!this.width) {
      this.plot.textContent = this.sentence;
      return;
    }
    this.width = 0;
    plotly(this.model).then(Plotly => {
      if (this.empty) {
        Plotly.purge(this.plot);
        this.plot.textContent = this.sentence;
      }
    });
  }

  failed(error) {
    this.wanted = null;
    this.plot.textContent = `This figure cannot be drawn: ${error}`;
  }

  async put(Plotly) {
    try {
      const { figure } = this.wanted;
      if (this.alone) {
        figure.layout.height = Math.max(figure.layout.height, Math.round(window.innerHeight * 0.6));
      }
      if (!this.width) {
        this.plot.textContent = '';
      }
      this.plot.style.minHeight = `${figure.layout.height}px`;
      this.wanted = null;
      await Plotly.react(this.plot, figure.data, figure.layout, {
        displaylogo: false,
        toImageButtonOptions: { filename: this.key, scale: 2 }
      });
      this.describe();
      this.width = this.plot.clientWidth;
      this.card.dataset.drawn = String(Number(this.card.dataset.drawn ?? 0) + 1);
    } catch (error) {
      this.failed(error);
    }
  }

  async fit() {
    if (!this.drawing && this.width && this.plot.clientWidth && this.plot.clientWidth !== this.width) {
      this.width = this.plot.clientWidth;
      (await plotly(this.model)).Plots.resize(this.plot);
    }
  }

  remove() {
    this.model.off(`change:${this.trait}`, this.take);
    this.sizes.disconnect();
    this.views.disconnect();
    if (this.width) {
      plotly(this.model).then(Plotly => Plotly.purge(this.plot));
    }
  }
}

// The visible cards and their order; the kernel keeps it for the next dashboard.
class Arrangement {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.hiddenOnes = document.createElement('div');
    this.hiddenOnes.className = 'wb-hidden-cards';
    this.hiddenOnes.setAttribute('role', 'group');
    this.hiddenOnes.setAttribute('aria-label', 'hidden cards');
    const acts = {
      alone: card => this.alone(card.alone ? null : card),
      before: card => this.move(card, -1),
      after: card => this.move(card, 1),
      hide: card => {
        this.alone(null);
        this.keep('hidden', [...model.get('hidden'), card.key]);
      }
    };
    this.cards = model.get('order').map(key => new Card(model, key, root, acts));
    root.append(this.hiddenOnes);
    this.arrange = this.arrange.bind(this);
    this.events = 'change:order change:hidden change:stale';
    model.on(this.events, this.arrange);
    root.addEventListener('keydown', event => {
      if (event.key === 'Escape') {
        this.alone(null);
      }
    });
    this.arrange();
  }

  keep(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  move(card, step) {
    const hidden = new Set(this.model.get('hidden'));
    const shown = this.model.get('order').filter(key => !hidden.has(key));
    const at = shown.indexOf(card.key);
    const to = at + step;
    if (to >= 0 && to < shown.length) {
      [shown[at], shown[to]] = [shown[to], shown[at]];
      this.keep('order', [...shown, ...hidden]);
      card.tools[step < 0 ? 1 : 2].focus();
    }
  }

  alone(chosen) {
    this.root.classList.toggle('wb-has-alone', chosen !== null);
    for (const card of this.cards) {
      const changed = card.alone !== (card === chosen);
      card.alone = card === chosen;
      card.card.classList.toggle('wb-alone', card.alone);
      if (changed) {
        card.recolour(true);
      }
    }
  }

  arrange() {
    const order = this.model.get('order');
    const hidden = new Set(this.model.get('hidden'));
    const stale = this.model.get('stale');
    for (const card of this.cards) {
      card.card.style.order = order.indexOf(card.key);
      card.card.hidden = hidden.has(card.key);
      const old = stale !== '' && !card.lasts;
      card.card.classList.toggle('wb-stale', old);
      card.mark.textContent = old ? 'stale' : '';
      card.mark.title = stale;
    }
    const back = this.cards
      .filter(card => hidden.has(card.key))
      .map(card => {
        const button = document.createElement('button');
        button.type = 'button';
        button.className = 'wb-tool';
        button.textContent = `+ ${card.title}`;
        button.setAttribute('aria-label', `Show the card ${card.title}`);
        button.addEventListener('click', () =>
          this.keep(
            'hidden',
            this.model.get('hidden').filter(key => key !== card.key)
          )
        );
        return button;
      });
    this.hiddenOnes.replaceChildren(...(back.length ? ['hidden: ', ...back] : []));
  }

  remove() {
    this.model.off(this.events, this.arrange);
    this.cards.forEach(card => card.remove());
  }
}

// ipywidgets names a slider beside it, and not the handle that the keyboard moves.
function nameSliders(root) {
  for (const slider of root.querySelectorAll('.widget-slider')) {
    const name = slider.querySelector('.widget-label')?.textContent;
    for (const part of name ? slider.querySelectorAll('[role=slider], .widget-readout') : []) {
      if (part.getAttribute('aria-label') !== name) {
        part.setAttribute('aria-label', name);
      }
    }
  }
}

// Names the sliders of the page that an element is in, later ones included; returns a function that ends it.
function keepSlidersNamed(el) {
  const sliders = new MutationObserver(() => nameSliders(page));
  let page = null;
  requestAnimationFrame(() => {
    page = el.closest(AREA) ?? el.parentElement;
    if (page) {
      nameSliders(page);
      sliders.observe(page, { childList: true, subtree: true });
    }
  });
  return () => sliders.disconnect();
}

function render({ model, el }) {
  el.classList.add('wb-grid');
  const forget = keepSlidersNamed(el);
  const arrangement = new Arrangement(model, el);
  const { cards } = arrangement;
  const show = hideCopies(el);
  const themes = new MutationObserver(() => cards.forEach(card => card.recolour()));
  themes.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-name'] });
  // The theme's variables are known once this is on the page.
  requestAnimationFrame(() => cards.forEach(card => card.recolour()));
  return () => {
    forget();
    themes.disconnect();
    arrangement.remove();
    show();
  };
}

export default { render };
