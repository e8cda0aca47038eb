/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A calendar: the days of some months as texts, with weeks, differences and relative times.

import dayjs from "dayjs";
import advancedFormat from "dayjs/plugin/advancedFormat.js";
import customParseFormat from "dayjs/plugin/customParseFormat.js";
import relativeTime from "dayjs/plugin/relativeTime.js";
import utc from "dayjs/plugin/utc.js";
import weekOfYear from "dayjs/plugin/weekOfYear.js";

import { checksum } from "./checksum.mjs";

for (const plugin of [advancedFormat, customParseFormat, relativeTime, utc, weekOfYear]) {
  dayjs.extend(plugin);
}

const MONTHS = 3;

export function unit() {
  const start = dayjs.utc("28 February 2024 13:45", "DD MMMM YYYY HH:mm");
  const texts = [];
  for (let month = 0; month < MONTHS; month++) {
    const first = start.add(month, "month").startOf("month");
    for (let day = first.startOf("week"); day.isBefore(first.endOf("month")); day = day.add(1, "day")) {
      const age = `${day.from(start)}, ${day.diff(start, "hour")} h, week ${day.week()}`;
      texts.push(`${day.format("dddd, MMMM Do YYYY, h:mm A")} ${day.toISOString()} ${age}`);
    }
  }
  return checksum(texts.join("\n"));
}
