/**
 * Timelines of waves and what they are of: a click on an instruction selects its line in the cell and its row
 * in the ISA view, and what is selected there stands out in the timelines.
 *
 * A timeline is a widget that works without this extension, so both sides speak through events of the page.
 */

import type { CellRecord } from './cells';
import type { ILink, SourceLinks } from './links';

/** As `views/waves/waves.js` names them. */
export const SELECTED = 'hipkittens:select-in-timeline';
export const POINTED = 'hipkittens:point-in-timeline';

/** Selection by a click on a timeline. */
export interface IPlace {
  kernel: string;
  address: number;
  line: number;
  /** Whether the line is of the cell, rather than of a header. */
  own: boolean;
}

/** Selection to highlight in a timeline. */
export interface IPointed {
  kernels: string[];
  line: number;
  addresses?: number[];
}

/**
 * Connects the timelines on the page with cells and ISA views.
 *
 * @param links - between cells and ISA views.
 * @param recordOf - the cell that a kernel was compiled from.
 * @returns what ends the connection.
 */
export function connectTimelines(
  links: SourceLinks,
  recordOf: (kernel: string) => CellRecord | null
): () => void {
  let telling = false;
  const fromTimeline = (event: Event) => {
    const place = (event as CustomEvent<IPlace | null>).detail;
    const record = place && recordOf(place.kernel);
    if (!place || !record) {
      return;
    }
    const link: ILink = {
      record,
      line: place.own ? place.line : 0,
      action: 'select',
      addresses: [place.address]
    };
    telling = true;
    try {
      links.pointInIsa(link);
      links.pointInCell(link);
    } finally {
      telling = false;
    }
  };
  const toTimeline = (_sender: SourceLinks, link: ILink) => {
    if (telling || link.action !== 'select') {
      return;
    }
    const kernels = link.record.payload?.kernels.map(kernel => kernel.name) ?? [];
    const detail: IPointed = { kernels, line: link.line, addresses: link.addresses };
    document.dispatchEvent(new CustomEvent(POINTED, { detail }));
  };
  document.addEventListener(SELECTED, fromTimeline);
  links.fromCell.connect(toTimeline);
  links.fromIsa.connect(toTimeline);
  return () => {
    document.removeEventListener(SELECTED, fromTimeline);
    links.fromCell.disconnect(toTimeline);
    links.fromIsa.disconnect(toTimeline);
  };
}
