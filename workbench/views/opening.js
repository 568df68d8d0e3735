// Shows the buttons of a table and asks Python to open the target of a click.
function render({ model, el }) {
  const key = model.get('key');
  const style = document.createElement('style');
  style.textContent =
    `[data-wb-open^="${key}:"]{display:inline-block;font:inherit;padding:0 .5em;cursor:pointer;color:inherit;` +
    'border:1px solid var(--jp-border-color1,#8888);border-radius:2px;background:var(--jp-layout-color1,transparent)}' +
    `[data-wb-open^="${key}:"]:hover{background:var(--jp-layout-color3,#8883)}` +
    `[data-wb-open^="${key}:"]:disabled{opacity:.5;cursor:default}`;
  const status = document.createElement('div');
  status.setAttribute('role', 'status');
  el.append(style, status);
  /** @returns {NodeListOf<HTMLButtonElement>} */
  const buttons = () => document.querySelectorAll(`[data-wb-open^="${key}:"]`);

  const click = event => {
    const button = event.target.closest?.(`[data-wb-open^="${key}:"]`);
    if (button) {
      status.textContent = 'Working…';
      buttons().forEach(each => (each.disabled = true));
      model.send({ open: Number(button.dataset.wbOpen.split(':')[1]) });
    }
  };
  const answered = message => {
    status.textContent = message.error;
    buttons().forEach(each => (each.disabled = false));
  };
  document.addEventListener('click', click);
  model.on('msg:custom', answered);
  return () => {
    document.removeEventListener('click', click);
    model.off('msg:custom', answered);
  };
}

export default { render };
