// The figures of a dashboard: cards that fill the width, each a plotly figure with its data under it.
//
// Every figure is a trait of its own, JSON, so only those that changed travel. plotly itself comes from the
// kernel's package, once a page and not once a figure: it is five megabytes. A figure that is not in view waits
// until it is. While this is on the page, the copy that is saved with the notebook is hidden; without a kernel
// this code never runs, so a notebook that is reopened from disk shows the copy.
const PLOTLY = Symbol.for('hipkittens-workbench.plotly');
// The figures' own colour of text is readable on light and dark; a page that has a theme knows a better one.
const INK = /#808691/g;
const TITLE = '--jp-ui-font-color1';
const TEXT = '--jp-ui-font-color2';

function plotly(model) {
  globalThis[PLOTLY] ??= new Promise((resolve, reject) => {
    const heard = (message, buffers) => {
      if (message?.type !== 'plotly') {
        return;
      }
      model.off('msg:custom', heard);
      const before = globalThis.Plotly;
      try {
        const module = { exports: {} };
        const source = new TextDecoder().decode(buffers[0]);
        new Function('module', 'exports', source)(module, module.exports);
        resolve(module.exports);
      } catch (error) {
        globalThis[PLOTLY] = undefined;
        reject(error);
      }
      // The script leaves its name behind; whoever had it keeps it.
      globalThis.Plotly = before;
    };
    model.on('msg:custom', heard);
    model.send({ type: 'plotly' });
  });
  return globalThis[PLOTLY];
}

class Card {
  constructor(model, key, root) {
    this.model = model;
    this.key = key;
    this.wanted = null;
    this.visible = false;
    this.drawing = false;
    this.card = document.createElement('figure');
    this.card.className = 'wb-card';
    this.card.dataset.key = key;
    this.plot = document.createElement('div');
    this.plot.className = 'wb-plot';
    this.table = document.createElement('div');
    this.card.append(this.plot, this.table);
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

  // Again in the colours of another theme.
  recolour() {
    if (this.model.get(this.trait)) {
      this.wanted = this.read();
      this.draw();
    }
  }

  read() {
    const style = getComputedStyle(this.card);
    const text = style.getPropertyValue(TEXT).trim();
    const given = this.model.get(this.trait);
    const wanted = JSON.parse(text ? given.replace(INK, text) : given);
    const title = style.getPropertyValue(TITLE).trim();
    if (title && wanted.figure.layout.title) {
      wanted.figure.layout.title.font = { ...wanted.figure.layout.title.font, color: title };
    }
    return wanted;
  }

  take() {
    if (this.model.get(this.trait)) {
      this.wanted = this.read();
      this.card.setAttribute('aria-label', this.wanted.title);
      const open = this.table.querySelector('details')?.open ?? false;
      this.table.innerHTML = this.wanted.table;
      const details = this.table.querySelector('details');
      if (details) {
        details.open = open;
      }
      this.draw();
    }
  }

  async draw() {
    if (!this.wanted || !this.visible || this.drawing) {
      return;
    }
    this.drawing = true;
    try {
      const Plotly = await plotly(this.model);
      const { figure } = this.wanted;
      this.plot.style.minHeight = `${figure.layout.height}px`;
      this.wanted = null;
      await Plotly.react(this.plot, figure.data, figure.layout, {
        displaylogo: false,
        toImageButtonOptions: { filename: this.key, scale: 2 }
      });
      this.width = this.plot.clientWidth;
      this.card.dataset.drawn = String(Number(this.card.dataset.drawn ?? 0) + 1);
    } catch (error) {
      this.plot.textContent = `This figure cannot be drawn: ${error}`;
    }
    this.drawing = false;
    this.fit();
    this.draw();
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

function render({ model, el }) {
  el.classList.add('wb-grid');
  const cards = model.get('order').map(key => new Card(model, key, el));
  const show = hideCopies(el);
  const themes = new MutationObserver(() => cards.forEach(card => card.recolour()));
  themes.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-name'] });
  // The theme's variables are known once this is on the page.
  requestAnimationFrame(() => cards.forEach(card => card.recolour()));
  return () => {
    themes.disconnect();
    for (const card of cards) {
      card.remove();
    }
    show();
  };
}

export default { render };
