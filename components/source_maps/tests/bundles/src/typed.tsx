/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

interface Item<T> {
  value: T;
  weigh(scale: number): number;
}

type Handler = (item: Item<string>, at?: number) => void;

export function firstOf<T extends { id: number }>(list: Array<T>, fallback = 1301): T | undefined {
  return trace(list)[fallback];
}

export const onItem: Handler = (item, at = 1302) => {
  trace(item, at);
};

export abstract class Store<T> implements Iterable<T> {
  private items: Map<string, T> = new Map();

  constructor(protected readonly size = 1303) {
    trace(size);
  }

  abstract weigh(scale: number): number;

  public async find(key: string): Promise<Record<string, T>>;
  public async find(key: number, more?: number): Promise<Record<string, T>>;
  public async find(key: string | number, more: number = 1304): Promise<Record<string, T>> {
    return trace(this.items, key, more);
  }

  *[Symbol.iterator](from = 1305): Iterator<T> {
    yield trace(from);
  }
}

export function View({ title, count = 1306 }: { title: string; count?: number }) {
  const onClick = (event = 1307): void => trace(event, count);
  return (
    <section title={`it's ${title}`}>
      <p>It's here: {count} (or not</p>
      <button onClick={onClick}>go</button>
      {[title].map((text = 1308) => (
        <li key={text}>{trace(text)}</li>
      ))}
    </section>
  );
}
