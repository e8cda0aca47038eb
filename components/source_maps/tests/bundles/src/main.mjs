/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

import seeded, { Circle, doubled, outerWork, rectangleArea, table } from "./shapes.mjs";
import { afterFace, waits } from "./windows.mjs";

keep(seeded, Circle, doubled, outerWork, rectangleArea, table, afterFace, waits);
