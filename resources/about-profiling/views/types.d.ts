/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The shapes that the views share. ./mach test-tidy reads them; the page does not.

/**
 * What state.js has. Without a recording, `recording` and what is calculated from it are null. Views ask for that first, once,
 * and so the types do not say it.
 */
interface ViewState {
  recording: Recording;
  id: string | null;
  filters: ViewFilters;
  range: Span | null;
  window: Span;
  search: string;
  searchFilters: boolean;
  selection: { func: number; node: number; time: Span | null };
  tab: string;
  idleLoopsAreShown: boolean;
  nodes: CallNodes;
  matches: Uint8Array | null;
  nodeMatches: Uint8Array | null;
  totals: Totals;
  difference: Difference | null;
  listeners: ((changed: Set<string>) => void)[];
  show(recording: Recording, id?: string | null): void;
  nothingLeftOut(): ViewFilters;
  change(members: Partial<ViewState>, ...names: string[]): void;
  flush(): void;
  bounds(): Span;
  leastSpan(): number;
  select(func: number): void;
  selectNode(node: number, time?: Span | null): void;
  clearSelection(): void;
  isLoopShown(index: number): boolean;
  lanes(): number[];
  description(): string;
  everyRealm(): boolean;
  wanted(): string;
}

interface ViewFilters {
  loops: Uint8Array;
  /** A bit for each kind of frame. */
  kinds: number;
  realms: Uint8Array;
  /** Whether the realms of an origin are shown; those that are not here are. */
  origins: Map<string | null, boolean>;
  idle: boolean;
}

/** A place on an element, in CSS pixels. */
type Place = [number, number];

/** A canvas, as views/surface.js makes it. */
interface DrawingSurface {
  width: number;
  height: number;
  begin(): boolean;
  rect(colour: string, x: number, y: number, width: number, height: number): void;
  flush(): void;
  text(text: string, x: number, y: number, colour: string): void;
  hatch(colour: string, x: number, y: number, width: number, height: number): void;
  outline(colour: string, x: number, y: number, width: number, height: number): void;
}

/** Where samples of the time line's columns begin and end. */
interface LaneColumns {
  /** In CSS pixels. */
  width: number;
  /** In milliseconds. */
  length: number;
  perPixel: number;
  first: number;
  end: number;
}

interface FlameBox {
  node: number;
  x: number;
  y: number;
  width: number;
  height: number;
  l: number;
  first: number;
  last: number;
}
