// Draws figures of the gallery as a notebook does, and finds texts that overlap or are cut.
// What a figure leaves out on purpose has no size: an empty tick label, a hidden axis.
window.drawFigure = async (figure, width) => {
  const place = document.getElementById('figure');
  Plotly.purge(place);
  // A page scrolls a figure that has a width of its own.
  place.style.width = `${Math.max(width, figure.layout.width ?? 0)}px`;
  place.style.height = `${figure.layout.height}px`;
  await Plotly.newPlot(place, figure.data, { ...figure.layout }, { responsive: true, displaylogo: false });
};

const isClear = text => {
  const style = getComputedStyle(text);
  const [, alpha = '1'] = style.fill.match(/rgba\([^,]+,[^,]+,[^,]+, ?([\d.]+)\)/) ?? [];
  return Number(alpha) * Number(style.fillOpacity) * Number(style.opacity) < 0.05
    || style.visibility === 'hidden' || style.display === 'none';
};

const isValue = text => text.classList.contains('bartext');

// Corners of a text as it stands, turned labels too.
const corners = text => {
  const box = text.getBBox();
  const matrix = text.getScreenCTM();
  // Letters fill less than their line: air above and below may meet.
  const air = box.height * 0.17;
  return [[0, air], [box.width, air], [box.width, box.height - air], [0, box.height - air]].map(([x, y]) => {
    const point = new DOMPoint(box.x + x, box.y + y).matrixTransform(matrix);
    return [point.x, point.y];
  });
};

// A bar's value wants more room than two labels: it is read with its bar, not with a title.
const ROOM = 3;

const wider = shape => {
  const xs = shape.map(([x]) => x);
  const ys = shape.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  return [[left - ROOM, top - ROOM], [right + ROOM, top - ROOM], [right + ROOM, bottom + ROOM], [left - ROOM, bottom + ROOM]];
};

// Two convex shapes are apart where a side of one of them has the other wholly beyond it.
const meet = (one, other) => {
  for (const shape of [one, other]) {
    for (let i = 0; i < 4; i++) {
      const [x0, y0] = shape[i];
      const [x1, y1] = shape[(i + 1) % 4];
      const normal = [y1 - y0, x0 - x1];
      const length = Math.hypot(...normal) || 1;
      const along = points => points.map(([x, y]) => (x * normal[0] + y * normal[1]) / length);
      const a = along(one);
      const b = along(other);
      if (Math.min(Math.max(...a), Math.max(...b)) - Math.max(Math.min(...a), Math.min(...b)) <= 1) {
        return false;
      }
    }
  }
  return true;
};

window.faults = () => {
  const place = document.getElementById('figure');
  const page = place.getBoundingClientRect();
  const found = [];
  const texts = [...place.querySelectorAll('.main-svg text')]
    .filter(text => text.textContent.trim() && !isClear(text) && text.getBBox().width > 0)
    .map(text => ({ said: text.textContent.trim(), shape: corners(text), owner: text }));
  for (const { said, shape } of texts) {
    const xs = shape.map(([x]) => x);
    const ys = shape.map(([, y]) => y);
    const over = Math.max(page.left - Math.min(...xs), Math.max(...xs) - page.right,
      page.top - Math.min(...ys), Math.max(...ys) - page.bottom);
    if (over > 1) {
      found.push(`cut by ${over.toFixed(0)} px: ${said}`);
    }
  }
  texts.forEach((one, i) => {
    for (const other of texts.slice(i + 1)) {
      if (meet(one.shape, other.shape)) {
        found.push(`overlap: ${one.said} | ${other.said}`);
      } else if (isValue(one.owner) !== isValue(other.owner)) {
        const [value, title] = isValue(one.owner) ? [one, other] : [other, one];
        if (meet(wider(value.shape), title.shape)) {
          found.push(`touch: ${value.said} | ${title.said}`);
        }
      }
    }
  });
  // The tool bar stands beside titles and values, never over them.
  const bar = place.querySelector('.modebar-container .modebar')?.getBoundingClientRect();
  if (bar && bar.width) {
    for (const { said, shape } of texts) {
      const [x, y] = shape[2];
      if (x > bar.left + 1 && shape[0][0] < bar.right && y > bar.top && shape[0][1] < bar.bottom) {
        found.push(`under the tool bar: ${said}`);
      }
    }
  }
  return found;
};
