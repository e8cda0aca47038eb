/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The shapes that the scripts of this folder share. ./mach test-tidy reads them; the page does not.
//
// Indices are -1 for nothing, and lines and columns are 0 for what is not known.

/** From and to, in milliseconds unless something else is said. */
type Span = [number, number];

type Times = ArrayLike<number>;

interface Recording {
  name: string;
  /** In milliseconds. */
  interval: number;
  timeOrigin: number | null;
  recordedBy: string[];
  processes: RecordedProcess[];
  loops: Loop[];
  functions: FunctionTable;
  resources: string[];
  realms: { url: string; origin: string | null }[];
  sources: Map<number, SourceText>;
  start: number;
  end: number;
  /** The number of samples, each as often as its weight says. */
  weight: number;
  sampleCount: number;
  isTimed: boolean;
  isComparison: boolean;
  step: number;
}

interface RecordedProcess {
  index: number;
  name: string;
  label: string;
  pid: number | null;
  ended: number | null;
  loops: number[];
}

/** An event loop, with its tables of frames, stacks and samples. */
interface Loop {
  index: number;
  process: number;
  name: string;
  label: string;
  kind: string;
  documents: string[];
  isIdle: boolean;
  frameFunction: Int32Array;
  frameKind: Uint8Array;
  frameRealm: Int32Array;
  frameLine: Uint32Array;
  frameColumn: Uint32Array;
  frameOffset: Float64Array;
  frameFirstLine: Uint32Array;
  frameLastLine: Uint32Array;
  stackParent: Int32Array;
  stackFrame: Int32Array;
  sampleCount: number;
  sampleTime: Float64Array;
  sampleStack: Int32Array;
  sampleActivity: Uint8Array;
  sampleWeight: Float64Array | null;
  sampleWorth: Float64Array | null;
  sampleIntervals: Float64Array | null;
  weight: number;
  missed: MissedTable | null;
}

interface MissedTable {
  count: number;
  start: Float64Array;
  end: Float64Array;
  samples: Uint32Array;
  why: Uint8Array;
}

/** The text of a script, and where in its file the text begins. */
interface SourceText {
  text: string;
  line: number;
  column: number;
}

/** What data/functions.js makes. */
interface FunctionTable {
  names: string[];
  kinds: number[];
  resources: number[];
  lines: number[];
  columns: number[];
  realms: Set<number>[];
  generated: Set<string>[];
  urls: string[];
  count: number;
  total: number;
  labels: string[];
  boxLabels: string[];
  tints: number[];
  shades: number[];
  isActivity(id: number): boolean;
  url(id: number): string;
  place(id: number): string;
  shortPlace(id: number): string;
  kindName(id: number): string;
  colour(id: number, scheme: Scheme): string;
}

interface Scheme {
  ground: string;
  text: string;
  faint: string;
  line: string;
  strong: string;
  header: string;
  accent: string;
  onAccent: string;
  match: string;
  shade: string;
  dim: string;
  onDim: string;
  /** The colours of scripts, each with its shades. */
  scripts: string[][];
  builtIn: string;
  native: string;
  unknown: string;
  activity: string;
  rest: string;
  faster: string[];
  slower: string[];
  same: string;
}

/** What is known of a time: the sample that stands for it, or the gap that it is in. */
type Known = { index: number; before?: undefined; after?: undefined } | Gap;

interface Gap {
  index?: undefined;
  before: number;
  after: number;
  from: number;
  to: number;
  /** For each reason, how many samples were missed. */
  missed?: number[];
}

/** The call tree. A node is a path of functions. */
interface CallNodes {
  count: number;
  firstRoot: number;
  /** For each event loop, how many rows its deepest stack has. */
  depths: number[];
  /** For each event loop, the node of each stack. */
  ofStack: Int32Array[];
  parent: Int32Array;
  func: Int32Array;
  depth: Int32Array;
  firstChild: Int32Array;
  sibling: Int32Array;
  resourceOf: Int32Array;
  resourceNames: string[];
  isOutermost: Uint8Array;
  isOutermostOfResource: Uint8Array;
  ofFunction: Int32Array;
  functionStart: Int32Array;
}

interface Filter {
  /** For each event loop, whether it counts. */
  loops: Uint8Array;
  range: Span | null;
  idle: boolean;
  stackless: boolean;
  nodes: Uint8Array | null;
}

/** What nodes, functions and resources have: in intervals, or as numbers of samples. */
interface Sums {
  shown: number;
  self: Float64Array;
  total: Float64Array;
  functionSelf: Float64Array;
  functionTotal: Float64Array;
  resourceSelf: Float64Array;
  resourceTotal: Float64Array;
}

interface Totals extends Sums {
  recording: Recording;
  nodes: CallNodes;
  filter: Filter;
  counted: Uint8Array;
  samples: Sums;
  sortedChildren: Map<number, number[]>;
}

/** A row of the inverted tree. Those of a root are found when it is opened. */
interface InvertedRow {
  func: number;
  nodes: number[] | null;
  weights: number[] | null;
  counts: number[] | null;
  weight: number;
  total: number;
  samples: number;
  totalSamples: number;
}

interface Difference {
  sides: Totals[];
}

type Counted = "total" | "functionSelf" | "functionTotal";

/** The places of a recording, as columns. */
interface Places {
  count: number;
  func: number[];
  line: number[];
  last: number[];
  column: number[];
  offset: number[];
  /** For each event loop, the place of each frame. */
  ofFrame: Int32Array[];
}

interface WeightOfPlace {
  place: number;
  weight: number;
}

interface SourceRow {
  line: number;
  last: number;
  column: number;
  offset: number;
  isCutBefore: boolean;
  isCutAfter: boolean;
  places: number[];
  /** These three are missing without a text. */
  start?: number;
  from?: number;
  to?: number;
}
