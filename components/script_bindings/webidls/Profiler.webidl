/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// https://wicg.github.io/js-self-profiling/#the-profiler-interface
[Exposed=(Window,Worker)]
interface Profiler : EventTarget {
  [Throws] constructor(ProfilerInitOptions options);

  readonly attribute DOMHighResTimeStamp sampleInterval;
  readonly attribute boolean stopped;

  // A ProfilerTrace, or for the format "json-gzip" an ArrayBuffer.
  Promise<object> stop();

  attribute EventHandler onsamplebufferfull;
};

// The method that the 2018 draft of the same specification has instead of the constructor.
[Exposed=(Window,Worker)]
partial interface Performance {
  Promise<Profiler> profile(ProfilerInitOptions options);
};

// https://wicg.github.io/js-self-profiling/#the-profilerinitoptions-dictionary
dictionary ProfilerInitOptions {
  required DOMHighResTimeStamp sampleInterval;
  required unsigned long maxBufferSize;
  // The name of the session's PerformanceProfileEntry; "profiler" by default.
  DOMString name;
  // From the 2018 draft.
  ProfilerTraceFormat format = "default";
};

enum ProfilerTraceFormat { "default", "json-gzip" };

// https://wicg.github.io/js-self-profiling/#the-profilertrace-dictionary
typedef DOMString ProfilerResource;

dictionary ProfilerTrace {
  required sequence<ProfilerResource> resources;
  required sequence<ProfilerFrame> frames;
  required sequence<ProfilerStack> stacks;
  required sequence<ProfilerSample> samples;
};

// https://wicg.github.io/js-self-profiling/#the-profilersample-dictionary
dictionary ProfilerSample {
  required DOMHighResTimeStamp timestamp;
  unsigned long long stackId;
  ProfilerMarker marker;
};

// https://github.com/WICG/js-self-profiling/blob/main/markers.md#format-proposal
enum ProfilerMarker { "script", "gc", "style", "layout", "paint", "other" };

// https://wicg.github.io/js-self-profiling/#the-profilerstack-dictionary
dictionary ProfilerStack {
  unsigned long long parentId;
  required unsigned long long frameId;
};

// https://wicg.github.io/js-self-profiling/#the-profilerframe-dictionary
dictionary ProfilerFrame {
  required DOMString name;
  unsigned long long resourceId;
  unsigned long long line;
  unsigned long long column;
};
