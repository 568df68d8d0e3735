/**
 * The extension's own icons; they take the theme's icon colour.
 */

import { LabIcon } from '@jupyterlab/ui-components';

/** A tile of a matrix with one element highlighted. */
export const workbenchIcon = new LabIcon({
  name: 'hipkittens-workbench:tile',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">' +
    '<path d="M3 3h5v5H3zm7 0h5v5h-5zm7 0h4v5h-4zM3 10h5v5H3zm14 0h4v5h-4zM3 17h5v4H3zm7 0h5v4h-5zm7 0h4v4h-4z" opacity=".6"/>' +
    '<path d="M10 10h5v5h-5z"/></g></svg>'
});

/** Lines of machine code. */
export const isaIcon = new LabIcon({
  name: 'hipkittens-workbench:isa',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">' +
    '<path d="M3 5h4v2H3zm6 0h12v2H9zM3 9h4v2H3zm8 0h8v2h-8zM3 13h4v2H3zm8 0h10v2H11zM3 17h4v2H3zm6 0h9v2H9z"/></g></svg>'
});

/** Bars under a roof line. */
export const dashboardIcon = new LabIcon({
  name: 'hipkittens-workbench:dashboard',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">' +
    '<path d="M4 13h3v7H4zm6-3h3v10h-3zm6 2h3v8h-3z"/><path d="M3 9.5 10 4h11v2H10.7L4.2 11z" opacity=".7"/></g></svg>'
});

/** A clock: where the time goes. */
export const profileIcon = new LabIcon({
  name: 'hipkittens-workbench:profile',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24"><g class="jp-icon3" fill="#616161">' +
    '<path d="M9 1h6v2H9zm3 4a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zm0 2a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13z"/>' +
    '<path d="M11 9h2v5.5h-2z"/></g></svg>'
});

/** The workbench's icon as an image of a colour that both themes show: an image does not follow the theme. */
export function cardUrl(): string {
  return `data:image/svg+xml,${encodeURIComponent(workbenchIcon.svgstr.replace(/fill="#[0-9a-f]+"/g, 'fill="#2196f3"'))}`;
}
