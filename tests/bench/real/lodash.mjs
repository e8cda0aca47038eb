/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page that prepares its data for display: grouped, sorted, merged, cloned and compared.

import _ from "lodash";

import { checksum } from "./checksum.mjs";

const PEOPLE = 120;
const people = _.times(PEOPLE, (id) => ({
  id,
  name: _.startCase(`person_${(id * 7919) % 997}`),
  city: `city ${(id * 31) % 17}`,
  scores: [(id * 13) % 10, (id * 17) % 10, (id * 19) % 10],
  address: { street: `street ${id % 23}`, zip: _.padStart(String(id), 5, "0"), geo: { x: id / 3, y: -id } },
}));

export function unit() {
  const cities = _(people)
    .groupBy("city")
    .mapValues((group) => ({
      count: group.length,
      mean: _.round(_.meanBy(group, ({ scores }) => _.sum(scores)), 2),
      names: _.take(_.orderBy(group, ["scores[0]", "name"], ["desc", "asc"]).map(_.property("name")), 3),
    }))
    .toPairs()
    .sortBy([([, { mean }]) => -mean, ([city]) => city])
    .value();
  const copy = _.cloneDeep(people);
  _.set(copy[7], "address.geo.x", 0);
  const changed = _.differenceWith(copy, people.slice(0, 20), _.isEqual).length;
  const merged = _.merge({}, people[3], { scores: [1], address: { geo: { z: 2 } } });
  const words = _.uniq(_.flatMap(people, ({ name }) => _.words(_.camelCase(name)))).length;
  return checksum(JSON.stringify([cities, changed, merged, words]));
}
