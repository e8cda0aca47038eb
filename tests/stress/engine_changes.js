/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Programs that change the engine's data again and again while profilers walk the stack: accessors, slots, property
// tables, shapes and prototypes of objects, collections of garbage, and code that comes and goes. If a walk asked the
// engine about such data, or wrote to it, this would show as a crash or a wrong value.
//
// Each program checks every value that it reads against its own model: a plain array or a formula. Each compared value
// is one checked read. A program is a round of some milliseconds; runChanges() runs rounds for a slice of time. CALLS
// below is the call graph, in the form of callgraph.js.

// ms
const SLICE = 40;
// The most wrong values that an event loop reports one by one. All are counted.
const MOST_WRONG_TOLD = 20;

// Counting and checking

let checkedReads = 0;
let wrongTold = 0;

function show(value) {
    try {
        return typeof value === "object" && value !== null ? Object.prototype.toString.call(value) : String(value);
    } catch (error) {
        return `a ${typeof value} that cannot be shown: ${error}`;
    }
}

function tellWrong(read, expected, what, key) {
    tally("wrongValues");
    if (wrongTold < MOST_WRONG_TOLD) {
        wrongTold++;
        const place = key === undefined ? what : `${what}, ${String(key)}`;
        reportFailure(`wrong value: ${place}: expected ${show(expected)}, got ${show(read)}`);
    }
}

function checkRead(read, expected, what, key) {
    checkedReads++;
    if (read !== expected) {
        tellWrong(read, expected, what, key);
    }
}

// The result of the changing functions, in whichever way they are called.
const INSIDE = 11;

// Values that do not change, read by compiled code. A walk that writes to a wrong place may hit them.

const RECORDS = 1024;
const NUMBERS = 50_000;
const records = [];
const numbers = [];
const words = [];
const wordPlaces = new Map();
let epoch = 0;

class Record {
    constructor(i) {
        this.a = i;
        this.b = i + 0.5;
        this.c = `record ${i}`;
        this.d = -i;
        this.e = null;
    }

    get sum() {
        return this.a + this.d + 3;
    }
}

class WideRecord extends Record {
    f = 5;
    g = 6;
    h = 7;
}

function makeRecord(i) {
    switch (i & 3) {
        case 0:
            return new Record(i);
        case 1:
            return new WideRecord(i);
        case 2:
            return { __proto__: Record.prototype, d: -i, c: `record ${i}`, b: i + 0.5, a: i, e: null };
        default:
            return { __proto__: Record.prototype, z: 0, a: i, e: null, b: i + 0.5, c: "", d: -i };
    }
}

function makeStanding() {
    for (let i = 0; i < RECORDS; i++) {
        records.push(makeRecord(i));
        words.push(`word ${i}`);
        wordPlaces.set(words[i], i);
    }
    for (let i = 0; i < RECORDS; i++) {
        records[i].e = records[(i + 1) % RECORDS];
    }
    for (let i = 0; i < NUMBERS; i++) {
        numbers.push(i * 2);
    }
}

function readRecords() {
    let reads = 0;
    for (let i = 0; i < RECORDS; i++) {
        const record = records[i];
        if (record.a !== i + epoch) {
            tellWrong(record.a, i + epoch, "records, a", i);
        }
        if (record.b !== i + 0.5) {
            tellWrong(record.b, i + 0.5, "records, b", i);
        }
        if (record.d !== -i - epoch) {
            tellWrong(record.d, -i - epoch, "records, d", i);
        }
        if (record.sum !== 3) {
            tellWrong(record.sum, 3, "records, sum", i);
        }
        const next = record.e;
        if (next !== records[(i + 1) % RECORDS]) {
            tellWrong(next, records[(i + 1) % RECORDS], "records, e", i);
        }
        reads += 5;
    }
    checkedReads += reads;
}

function writeRecords() {
    epoch = (epoch + 1) % 1000;
    for (let i = 0; i < RECORDS; i++) {
        records[i].a = i + epoch;
        records[i].d = -i - epoch;
    }
}

function readNumbers() {
    for (let i = 0; i < NUMBERS; i++) {
        if (numbers[i] !== i * 2) {
            tellWrong(numbers[i], i * 2, "numbers", i);
        }
    }
    checkedReads += NUMBERS;
}

function readWords() {
    let reads = 0;
    for (let i = 0; i < RECORDS; i++) {
        const word = words[i];
        if (wordPlaces.get(word) !== i) {
            tellWrong(wordPlaces.get(word), i, "places of words", i);
        }
        if (word.length !== (i < 10 ? 6 : i < 100 ? 7 : i < 1000 ? 8 : 9)) {
            tellWrong(word.length, undefined, "lengths of words", i);
        }
        const name = records[i].c;
        if (name.length !== ((i & 3) === 3 ? 0 : word.length + 2)) {
            tellWrong(name.length, word.length + 2, "lengths of records, c", i);
        }
        reads += 3;
    }
    checkedReads += reads;
}

function readStanding() {
    readRecords();
    readNumbers();
    readWords();
}

function compiledReads() {
    for (let i = 0; i < 8; i++) {
        writeRecords();
        for (let j = 0; j < 4; j++) {
            readRecords();
            readNumbers();
        }
        readWords();
    }
}

// Ways in which the engine calls a function while it is in the middle of an operation of its own.

let insideBody = null;
const insideHolder = {};
Object.defineProperty(insideHolder, "value", {
    get: function getInside() {
        return insideBody();
    },
    set: function setInside(value) {
        insideBody(value);
    },
    enumerable: true,
    configurable: true,
});

function throughMap(body) {
    return [0].map(body)[0];
}

function throughSort(body) {
    // The arguments may come in any order.
    const [first, second] = [2, 1].sort(body);
    return first + second === 3 ? INSIDE : 0;
}

function throughReplace(body) {
    return Number("x".replace(/x/, body));
}

function throughStringify(body) {
    return Number(JSON.stringify({ toJSON: body }));
}

function throughParse(body) {
    return JSON.parse("1", body);
}

function throughApply(body) {
    return Reflect.apply(body, null, []);
}

function throughCall(body) {
    return body.call(null);
}

function throughBound(body) {
    return body.bind(null)();
}

function throughProxyGet(body) {
    return new Proxy({}, { get: body }).x;
}

function throughProxyHas(body) {
    return "x" in new Proxy({}, { has: body }) ? INSIDE : 0;
}

function throughProxyCall(body) {
    return new Proxy(body, {})();
}

function throughValueOf(body) {
    return Number({ valueOf: body });
}

function throughFrom(body) {
    return Array.from({ length: 1 }, body)[0];
}

function throughReduce(body) {
    return [1, 2].reduce(body);
}

function throughText(body) {
    return Number(`${{ toString: body }}`);
}

function throughInstance(body) {
    class Asked {}
    Object.defineProperty(Asked, Symbol.hasInstance, { value: body });
    return {} instanceof Asked ? INSIDE : 0;
}

function throughWasm(body) {
    return instantiateWasm(body).callBack(1);
}

function throughGenerator(body) {
    function* yieldInside() {
        yield body();
    }
    const [value] = yieldInside();
    return value;
}

function throughEvalGet(body) {
    insideBody = body;
    return (0, eval)("insideHolder.value");
}

function throughEvalSet(body) {
    insideBody = body;
    (0, eval)("insideHolder.value = 1");
    return INSIDE;
}

function throughEntries(body) {
    insideBody = body;
    return Object.entries(insideHolder)[0][1];
}

function throughAssign(body) {
    insideBody = body;
    return Object.assign({}, insideHolder).value;
}

function throughSpread(body) {
    insideBody = body;
    return { ...insideHolder }.value;
}

function throughReflectGet(body) {
    insideBody = body;
    return Reflect.get(insideHolder, "value");
}

function throughReflectSet(body) {
    insideBody = body;
    return Reflect.set(insideHolder, "value", 1) ? INSIDE : 0;
}

function throughInherited(body) {
    insideBody = body;
    return Object.create(insideHolder).value;
}

function throughEvent(body) {
    insideBody = body;
    const options = Object.defineProperty({}, "bubbles", Object.getOwnPropertyDescriptor(insideHolder, "value"));
    return new Event("inside", options).bubbles ? INSIDE : 0;
}

const WAYS = [
    throughMap, throughSort, throughReplace, throughStringify, throughParse, throughApply, throughCall, throughBound,
    throughProxyGet, throughProxyHas, throughProxyCall, throughValueOf, throughFrom, throughReduce, throughText,
    throughInstance, throughWasm, throughGenerator, throughEvalGet, throughEvalSet, throughEntries, throughAssign,
    throughSpread, throughReflectGet, throughReflectSet, throughInherited, throughEvent,
];

// Calls one of the functions that change something. All of them return INSIDE.
function goThrough(body) {
    const way = random.oneOf(WAYS);
    checkRead(way(body), INSIDE, way.name, body.name);
}

// Accessors that become doubles, and accessors again, while they run. Read as addresses, the doubles point to nothing.

const REDEFINITIONS = 400;
const ADDRESSES = new Float64Array(64);
new BigUint64Array(ADDRESSES.buffer).forEach(function setAddress(_, i, bits) {
    bits[i] = i & 1 ? 0x4141_0000_0000n + BigInt(i) * 4096n : 0x3ff8_0000_4141_0000n + BigInt(i) * 8n;
});

// The object that texts for eval() use.
let subject = null;
// The object whose property is redefined. It is the subject, its prototype or the target of its proxy.
let holder = null;

function redefinedGet() {
    return 7;
}

function redefinedSet() {}

const REDEFINED = [
    { get: redefinedGet, set: redefinedSet, enumerable: true, configurable: true },
    { get: redefinedGet, set: undefined, enumerable: true, configurable: true },
    { get: undefined, set: redefinedSet, enumerable: false, configurable: true },
];

// Spends most of its time in the change itself.
function redefineOften() {
    const accessor = REDEFINED[0];
    for (let i = 0; i < REDEFINITIONS; i++) {
        const double = ADDRESSES[i & 63];
        Object.defineProperty(holder, "foo", { value: double, writable: true, enumerable: true, configurable: true });
        checkRead(holder.foo, double, "foo, a double", i);
        Object.defineProperty(holder, "foo", accessor);
    }
    checkRead(holder.foo, 7, "foo, an accessor");
    return INSIDE;
}

function redefineInAllWays() {
    for (let i = 0; i < REDEFINITIONS / 4; i++) {
        const double = ADDRESSES[i & 63];
        Object.defineProperty(holder, "foo", { value: double, writable: true, enumerable: true, configurable: true });
        checkRead(subject.foo, double, "foo of the subject, a double", i);
        checkRead(Object.getOwnPropertyDescriptor(holder, "foo").value, double, "descriptor of foo, a double", i);
        const accessor = REDEFINED[i % 3];
        Object.defineProperty(holder, "foo", accessor);
        checkRead(subject.foo, accessor.get === undefined ? undefined : 7, "foo of the subject, an accessor", i);
        const descriptor = Object.getOwnPropertyDescriptor(holder, "foo");
        checkRead(descriptor.get, accessor.get, "getter of foo", i);
        checkRead(descriptor.set, accessor.set, "setter of foo", i);
        checkRead(Object.keys(holder).includes("foo"), accessor.enumerable, "foo among the keys", i);
        if ((i & 7) === 0) {
            delete holder.foo;
            checkRead(subject.foo, undefined, "foo, deleted", i);
        }
    }
    return INSIDE;
}

let redefine = redefineOften;

function startGet() {
    return redefine();
}

function startSet() {
    redefine();
}

const START = { get: startGet, set: startSet, enumerable: true, configurable: true };
// Ways to make the subject from `holder`.
const HOLDINGS = {
    own: () => holder,
    prototype: () => Object.create(holder),
    grandparent: () => Object.create(Object.create(holder)),
    target: () => new Proxy(holder, {}),
    targetOfPrototype: () => Object.create(new Proxy(holder, {})),
    targetOfTarget: () => new Proxy(new Proxy(holder, {}), {}),
};

function makeHolder() {
    switch (random.below(8)) {
        case 0:
            return Object.create(null);
        case 1:
            return [1, 2, 3];
        case 2:
            return function held() {};
        case 3:
            return class Held {};
        case 4:
            return new WideRecord(1);
        case 5:
            return new Map();
        default:
            return {};
    }
}

const SETS = [
    "subject.foo = 1",
    "subject.foo = 1",
    "'use strict'; subject.foo = 1",
    "subject['foo'] = 1",
    "with (subject) { foo = 1; }",
    "[subject.foo] = [1]; 1",
];
const GETS = [
    "subject.foo",
    "subject.foo",
    "subject['foo']",
    "with (subject) { foo; }",
    "(function evaluated() { return subject.foo; })()",
];

function redefinedAccessors() {
    const before = random.oneOf([0, 1, 5, 30, 200]);
    holder = makeHolder();
    for (let i = 0; i < before; i++) {
        holder[`p${i}`] = i;
    }
    Object.defineProperty(holder, "foo", START);
    holder.last = before;
    subject = HOLDINGS[random.chance(0.5) ? "own" : random.oneOf(Object.keys(HOLDINGS))]();
    redefine = random.chance(0.7) ? redefineOften : redefineInAllWays;
    if (random.chance(0.2)) {
        goThrough(redefine);
    } else if (random.chance(0.5)) {
        checkRead((0, eval)(random.oneOf(SETS)), 1, "what foo was set to");
    } else {
        checkRead((0, eval)(random.oneOf(GETS)), INSIDE, "what the getter foo gave");
    }
    for (let i = 0; i < before; i++) {
        checkRead(subject[`p${i}`], i, "properties beside foo", i);
    }
    checkRead(subject.last, before, "the property behind foo");
}

// Slots and elements that grow, and shrink, while an accessor of the object runs.

const SLOT_KEYS = [];
const MOST_SLOTS = 4000;
let growth = null;

function addSlots() {
    const { object, most, salt } = growth;
    for (let i = 0; i < most; i++) {
        object[SLOT_KEYS[i]] = salt + i;
        checkRead(object[SLOT_KEYS[i >> 1]], salt + (i >> 1), "slots while they grow", i >> 1);
    }
    checkSlots();
    return INSIDE;
}

function assignSlots() {
    Object.assign(growth.object, growth.source);
    checkSlots();
    return INSIDE;
}

function defineSlots() {
    const { object, most, salt } = growth;
    for (let i = most - 1; i >= 0; i--) {
        Object.defineProperty(object, SLOT_KEYS[i], { value: salt + i, configurable: true, enumerable: true });
    }
    checkSlots();
    return INSIDE;
}

// This is also done to an object with its own dictionary.
function deleteSlots() {
    const { object, most, salt } = growth;
    addSlots();
    for (let i = 0; i < most; i += 2) {
        delete object[SLOT_KEYS[i]];
    }
    for (let i = 0; i < most; i++) {
        checkRead(object[SLOT_KEYS[i]], i & 1 ? salt + i : undefined, "slots of which some were deleted", i);
    }
    for (let i = most - 1; i >= 0; i--) {
        delete object[SLOT_KEYS[i]];
    }
    checkRead(SLOT_KEYS[most - 1] in object, false, "a slot that was deleted", most - 1);
    return addSlots();
}

function pushElements() {
    const { object, most, salt } = growth;
    if (!Array.isArray(object)) {
        return addSlots();
    }
    const before = object.length;
    for (let i = 0; i < most; i++) {
        object.push(salt + i);
    }
    for (let i = 0; i < most; i++) {
        checkRead(object[before + i], salt + i, "elements while they grow", i);
    }
    object.length = 0;
    checkRead(object.length, 0, "length of elements");
    return INSIDE;
}

function checkSlots() {
    const { object, most, salt } = growth;
    for (let i = 0; i < most; i++) {
        checkRead(object[SLOT_KEYS[i]], salt + i, "slots that have grown", i);
    }
}

const GROWTHS = [addSlots, addSlots, assignSlots, assignSlots, defineSlots, deleteSlots, pushElements];

function growGet() {
    return growth.grow();
}

function growSet() {
    growth.grow();
}

function makeGrowing() {
    switch (random.below(4)) {
        case 0:
            return [];
        case 1:
            return new Record(0);
        case 2:
            return class Grown {};
        default:
            return {};
    }
}

function growingSlots() {
    for (let i = 0; i < 4; i++) {
        const object = makeGrowing();
        const before = random.below(20);
        for (let j = 0; j < before; j++) {
            object[`p${j}`] = j;
        }
        Object.defineProperty(object, "foo", { get: growGet, set: growSet, configurable: true });
        const most = random.oneOf([20, 100, 100, 300, 300, 1000, MOST_SLOTS]);
        const salt = random.below(1000);
        const source = {};
        for (let j = 0; j < most; j++) {
            source[SLOT_KEYS[j]] = salt + j;
        }
        growth = { object, most, salt, source, grow: random.oneOf(GROWTHS) };
        subject = object;
        if (random.chance(0.2)) {
            goThrough(growth.grow);
        } else if (random.chance(0.5)) {
            checkRead((0, eval)("subject.foo = 1"), 1, "what was set while slots grew");
        } else {
            checkRead((0, eval)("subject.foo"), INSIDE, "what was got while slots grew");
        }
        for (let j = 0; j < before; j++) {
            checkRead(object[`p${j}`], j, "slots from before they grew", j);
        }
    }
}

// Property tables that are searched, rehashed and made again. The model has for each index the value of its key, or
// ABSENT, and the indexes in the order in which their keys were added.

const ABSENT = -1;
const TABLE_KEYS = [];
const LARGEST_TABLE = 512;
let table = null;
let tableValues = null;
let tableOrder = null;

function valueOfTable(i) {
    return tableValues[i] === ABSENT ? undefined : tableValues[i];
}

function askDescriptors() {
    for (let i = 0; i < tableValues.length; i++) {
        const key = TABLE_KEYS[i];
        const value = valueOfTable(i);
        // The engine may cache the answer.
        for (let j = 0; j < 3; j++) {
            const descriptor = Object.getOwnPropertyDescriptor(table, key);
            checkRead(descriptor === undefined ? undefined : descriptor.value, value, "getOwnPropertyDescriptor", key);
        }
    }
}

function askPresence() {
    for (let i = 0; i < tableValues.length; i++) {
        const key = TABLE_KEYS[i];
        const isThere = tableValues[i] !== ABSENT;
        checkRead(Object.hasOwn(table, key), isThere, "Object.hasOwn", key);
        checkRead(Object.prototype.hasOwnProperty.call(table, key), isThere, "hasOwnProperty", key);
        checkRead(key in table, isThere, "in", key);
        checkRead(Object.prototype.propertyIsEnumerable.call(table, key), isThere, "propertyIsEnumerable", key);
    }
}

function askValues() {
    for (let i = 0; i < tableValues.length; i++) {
        const key = TABLE_KEYS[i];
        const value = valueOfTable(i);
        checkRead(table[key], value, "values of a table", key);
        checkRead(Reflect.get(table, key), value, "Reflect.get", key);
        checkRead(table[key], value, "values of a table, again", key);
    }
}

function askOrder() {
    const keys = Reflect.ownKeys(table).filter(isTableKey);
    checkRead(keys.length, tableOrder.length, "number of keys");
    for (let i = 0; i < tableOrder.length; i++) {
        checkRead(keys[i], TABLE_KEYS[tableOrder[i]], "Reflect.ownKeys", i);
    }
}

function isTableKey(key) {
    return typeof key === "string" && key.startsWith("k");
}

function addKey(i, value) {
    table[TABLE_KEYS[i]] = value;
    tableValues[i] = value;
    tableOrder.push(i);
}

function deleteKey(i) {
    checkRead(delete table[TABLE_KEYS[i]], true, "delete", TABLE_KEYS[i]);
    tableValues[i] = ABSENT;
    tableOrder.splice(tableOrder.indexOf(i), 1);
}

function checkWork() {
    checkRead("work" in table, true, "the accessor in the table");
    const owner = Object.hasOwn(table, "work") ? table : Object.getPrototypeOf(table);
    checkRead(Object.hasOwn(owner, "work"), true, "hasOwn of the accessor");
    checkRead(Object.getOwnPropertyDescriptor(owner, "work").set, workSet, "the accessor's setter");
}

// Adds and deletes keys until the engine must replace the table.
function changeTable() {
    for (let change = 0; change < 150; change++) {
        const i = random.below(tableValues.length);
        if (tableValues[i] === ABSENT) {
            addKey(i, random.below(1_000_000));
        } else {
            deleteKey(i);
        }
        checkRead(Object.hasOwn(table, TABLE_KEYS[i]), tableValues[i] !== ABSENT, "hasOwn after a change", i);
        checkRead(table[TABLE_KEYS[i]], valueOfTable(i), "value after a change", i);
    }
    checkWork();
}

// Adds one key after the other, so that the table grows.
function fillTable() {
    tableValues.fill(ABSENT);
    tableOrder = [];
    const offset = random.below(1000);
    for (let i = 0; i < tableValues.length; i++) {
        addKey(i, offset + i * 3);
        const descriptor = Object.getOwnPropertyDescriptor(table, TABLE_KEYS[i]);
        checkRead(descriptor?.value, offset + i * 3, "descriptor of a key that was added", i);
        checkRead(Object.hasOwn(table, TABLE_KEYS[i]), true, "hasOwn after a key was added", i);
        checkRead(Object.hasOwn(table, TABLE_KEYS[i >> 1]), true, "hasOwn of an older key", i >> 1);
        checkRead("work" in table, true, "the accessor after a key was added", i);
        checkRead("none" in table, false, "what is not there after a key was added", i);
    }
    return INSIDE;
}

const TABLE_WORK = [askDescriptors, askDescriptors, askPresence, askValues, askOrder, changeTable, changeTable];

function workOnTable() {
    random.oneOf(TABLE_WORK)();
    random.oneOf(TABLE_WORK)();
    askDescriptors();
    return INSIDE;
}

let tableWork = workOnTable;

function workGet() {
    return tableWork();
}

function workSet() {
    tableWork();
}

const WORK = { get: workGet, set: workSet, configurable: true };

// The accessor is the table's own or inherited, because the engine also caches look-ups that find nothing.
function makeTable() {
    const owner = Object.defineProperty({}, "work", WORK);
    table = random.chance(0.5) ? owner : Object.create(owner);
    tableValues = new Int32Array(random.oneOf([8, 40, 100, 200, 400, LARGEST_TABLE])).fill(ABSENT);
    tableOrder = [];
}

function propertyTables() {
    const isNew = table === null || random.chance(0.2);
    if (isNew) {
        makeTable();
    } else if (random.chance(0.1) && tableValues[0] !== ABSENT) {
        // From now on the object has its own dictionary.
        deleteKey(0);
    }
    tableWork = isNew ? fillTable : workOnTable;
    subject = table;
    if (random.chance(0.1)) {
        goThrough(tableWork);
    } else if (random.chance(0.5)) {
        checkRead((0, eval)("subject.work = 1"), 1, "what was set while a table changed");
    } else {
        checkRead((0, eval)("subject.work"), INSIDE, "what was got while a table changed");
    }
}

// Shapes and prototypes that change while functions of the engine and getters run.

function heldGet() {
    return changeShapes();
}

const PROTOTYPES = [0, 1, 2, 3].map(function makePrototype(mark) {
    const prototype = { mark };
    for (let i = 0; i < mark * 30; i++) {
        prototype[`p${i}`] = i;
    }
    return Object.defineProperty(prototype, "foo", { get: heldGet, set: undefined, configurable: true });
});
PROTOTYPES.push(Object.setPrototypeOf({ mark: 4 }, PROTOTYPES[2]));

class Fields {
    #secret;
    first = 1;
    second = 2.5;

    constructor(i) {
        this.#secret = i;
        this[`third${i & 7}`] = i;
    }

    get secret() {
        return this.#secret;
    }
}

class MoreFields extends Fields {
    fourth = this.first + 3;
    fifth = "five";
}

function changeShapes() {
    const shaped = subject;
    for (let i = 0; i < 60; i++) {
        const prototype = PROTOTYPES[i % PROTOTYPES.length];
        Object.setPrototypeOf(shaped, prototype);
        checkRead(shaped.mark, prototype.mark, "what a prototype has", i);
        checkRead(Object.getPrototypeOf(shaped), prototype, "a prototype that was set", i);
        checkRead(shaped.own, 6, "what an object has under prototypes", i);
        shaped[`added${i & 15}`] = i;
        checkRead(shaped[`added${i & 15}`], i, "what was added to a shape", i);

        const fields = new (i & 1 ? Fields : MoreFields)(i);
        checkRead(fields.first + fields.second, 3.5, "fields", i);
        checkRead(fields.secret, i, "a private field", i);
        checkRead(fields[`third${i & 7}`], i, "a computed field", i);
        checkRead(fields.fourth, i & 1 ? undefined : 4, "a field of a subclass", i);

        const kept = [Object.freeze, Object.seal, Object.preventExtensions][i % 3](fields);
        checkRead(Object.isFrozen(kept), i % 3 === 0, "Object.isFrozen", i);
        checkRead(Object.isExtensible(kept), false, "Object.isExtensible", i);
        checkRead(Reflect.set(kept, "first", 9), i % 3 !== 0, "Reflect.set", i);
        checkRead(kept.first, i % 3 === 0 ? 1 : 9, "what was set, or not", i);
        checkRead(Reflect.defineProperty(kept, "none", { value: 1 }), false, "a property that cannot be", i);
    }
    Object.setPrototypeOf(shaped, PROTOTYPES[0]);
    return INSIDE;
}

function shapesAndPrototypes() {
    subject = Object.setPrototypeOf({ own: 6 }, random.oneOf(PROTOTYPES));
    if (random.chance(0.4)) {
        goThrough(changeShapes);
    } else {
        checkRead((0, eval)(random.oneOf(GETS)), INSIDE, "what was got while prototypes changed");
    }
    checkRead(subject.own, 6, "what an object has when its shape has changed");
}

// Interface objects of the DOM, which are not JSFunctions: to name one that is called, a walk would have to look up its
// property `name`. Here each of them has hundreds of properties.

// All of these constructors have one required argument.
const EVENTS = [
    "Event", "CustomEvent", "MessageEvent", "ErrorEvent", "ProgressEvent", "CloseEvent", "UIEvent", "MouseEvent",
    "KeyboardEvent", "FocusEvent", "HashChangeEvent", "StorageEvent", "TransitionEvent",
].filter(function isThere(name) {
    // A worker has fewer interfaces.
    return typeof globalThis[name] === "function";
});
const INTERFACE_KEYS = 400;
// They are read once, because `globalThis` may become the window of another document: see wasRemoved().
const INTERFACES = Object.fromEntries([...EVENTS, "URLSearchParams"].map(function byName(name) {
    return [name, globalThis[name]];
}));
const changedInterfaces = new Set();
let interfaceName = "";
let interfaceLength = 1;

function interfaceValue(i) {
    return i * 7 + interfaceName.length;
}

function chooseInterface(name, length) {
    interfaceName = name;
    interfaceLength = length;
    if (!changedInterfaces.has(name)) {
        changedInterfaces.add(name);
        addInterfaceKeys();
    }
}

function addInterfaceKeys() {
    const called = INTERFACES[interfaceName];
    for (let i = 0; i < INTERFACE_KEYS; i++) {
        called[TABLE_KEYS[i]] = interfaceValue(i);
    }
}

function askInterface() {
    const called = INTERFACES[interfaceName];
    for (let i = 0; i < INTERFACE_KEYS; i++) {
        const key = TABLE_KEYS[i];
        const value = interfaceValue(i);
        for (let j = 0; j < 3; j++) {
            checkRead(Object.getOwnPropertyDescriptor(called, key)?.value, value, "descriptor of an interface's", key);
        }
        if ((i & 15) === 0) {
            askInterfaceName(called);
        }
    }
    return INSIDE;
}

function askInterfaceName(called) {
    checkRead(called.name, interfaceName, "name of", interfaceName);
    checkRead(Reflect.get(called, "name"), interfaceName, "Reflect.get of the name of", interfaceName);
    checkRead(Object.hasOwn(called, "name"), true, "hasOwn of the name of", interfaceName);
    checkRead(Object.getOwnPropertyDescriptor(called, "name").value, interfaceName, "descriptor, name", interfaceName);
    checkRead(called.length, interfaceLength, "length of", interfaceName);
    checkRead(called.prototype.constructor, called, "constructor of the prototype of", interfaceName);
}

// Changes the tables and slots of the interface object itself.
function changeInterface() {
    const called = INTERFACES[interfaceName];
    for (let i = 0; i < INTERFACE_KEYS; i += 1 + random.below(5)) {
        delete called[TABLE_KEYS[i]];
        checkRead(Object.hasOwn(called, TABLE_KEYS[i]), false, "hasOwn of what was deleted from", interfaceName);
        checkRead(called.name, interfaceName, "name after something was deleted from", interfaceName);
    }
    addInterfaceKeys();
    for (let i = 0; i < 40; i++) {
        Object.defineProperty(called, "name", { value: ADDRESSES[i] });
        checkRead(called.name, ADDRESSES[i], "name that is a double of", interfaceName);
        Object.defineProperty(called, "name", { value: interfaceName });
    }
    return askInterface();
}

function initGet() {
    checkRead(random.chance(0.8) ? askInterface() : changeInterface(), INSIDE, "inside of", interfaceName);
    return false;
}

function* initPairs() {
    askInterface();
    yield ["a", "1"];
    askInterface();
    yield ["b", "2"];
}

const INIT = Object.defineProperty({}, "bubbles", { get: initGet, configurable: true });
const PAIRS = { [Symbol.iterator]: initPairs };

function constructEvent() {
    const event = new INTERFACES[interfaceName]("changed", INIT);
    checkRead(event.type, "changed", "type of a", interfaceName);
    checkRead(event.bubbles, false, "bubbles of a", interfaceName);
    checkRead(event.constructor.name, interfaceName, "name of the constructor of a", interfaceName);
}

function constructPairs() {
    chooseInterface("URLSearchParams", 0);
    const list = new INTERFACES.URLSearchParams(PAIRS);
    checkRead(list.get("a") + list.get("b"), "12", "pairs of", interfaceName);
}

function interfaceObjects() {
    chooseInterface(random.chance(0.5) ? "Event" : random.oneOf(EVENTS), 1);
    switch (random.below(6)) {
        case 0:
        case 1:
            // This runs in the C++ interpreter.
            checkRead((0, eval)("new INTERFACES[interfaceName]('x', INIT).type"), "x", "type of a new", interfaceName);
            break;
        case 2:
            goThrough(askInterface);
            break;
        case 3:
            constructPairs();
            break;
        default:
            constructEvent();
    }
}

// Collections

function makeClosure(captured) {
    return function churned(x) {
        return x + captured;
    };
}

function churnSort(a, b) {
    return makeClosure(a)(0) - b;
}

// New functions in the nursery that functions of the engine call.
function churn() {
    for (let i = 0; i < 300; i++) {
        checkRead([i].map(makeClosure(i))[0], i * 2, "a new closure by map", i);
        checkRead(Reflect.apply(makeClosure(i), null, [1]), i + 1, "a new closure by Reflect.apply", i);
        checkRead(makeClosure(i).bind(null, 2)(), i + 2, "a new closure, bound", i);
        checkRead([3, i, 1].sort(churnSort)[0], Math.min(i, 1), "a new closure in sort", i);
        checkRead("a".replace("a", makeClosure("b")), "ab", "a new closure by replace", i);
        const pair = { first: makeClosure(i), second: [i, `${i}`, { i }] };
        checkRead(pair.first(3) + pair.second[2].i, i * 2 + 3, "a new closure of a new object", i);
        checkRead(pair.second[1].length, i < 10 ? 1 : i < 100 ? 2 : 3, "a new string's length", i);
    }
    return INSIDE;
}

function minorCollections() {
    for (let i = 0; i < 4; i++) {
        goThrough(churn);
    }
}

const SURVIVORS = 600;
const survivors = [];
const survivorNotes = new WeakMap();
let survivorsMade = 0;

function addSurvivor() {
    const n = survivorsMade++;
    const view = new Float64Array(n & 255).fill(n);
    const survivor = { n, text: `survivor ${n}`, list: [n, n + 1], view, twice: makeClosure(n) };
    survivorNotes.set(survivor, n * 3);
    survivors.push({ survivor, reference: new WeakRef(survivor) });
    if (survivors.length > SURVIVORS) {
        survivors.splice(random.below(SURVIVORS), 1);
    }
}

function checkSurvivors() {
    for (let i = 0; i < survivors.length; i++) {
        const { survivor, reference } = survivors[i];
        const { n } = survivor;
        checkRead(survivor.text, `survivor ${n}`, "text of a survivor", n);
        checkRead(survivor.list[1], n + 1, "list of a survivor", n);
        checkRead(survivor.view.length, n & 255, "view of a survivor", n);
        checkRead(survivor.view.at(-1), (n & 255) === 0 ? undefined : n, "numbers of a survivor", n);
        checkRead(survivor.twice(n), n * 2, "closure of a survivor", n);
        checkRead(survivorNotes.get(survivor), n * 3, "note of a survivor", n);
        checkRead(reference.deref(), survivor, "reference to a survivor", n);
    }
}

function litter() {
    const garbage = [];
    for (let i = 0; i < 2000; i++) {
        garbage.push({ i, text: `garbage ${i}`, next: garbage[i >> 1], closure: makeClosure(i) });
        if (i % 100 === 0) {
            addSurvivor();
        }
    }
    checkRead(garbage[1999].next.i, 999, "garbage", 1999);
    // Memory outside the engine's heap makes the engine collect, too.
    const bytes = new Uint8Array(random.oneOf([1000, 100_000, 2_000_000]));
    bytes[bytes.length - 1] = 77;
    checkRead(bytes.at(-1), 77, "the last byte of much memory", bytes.length);
    checkSurvivors();
    return INSIDE;
}

function majorCollections() {
    goThrough(litter);
}

// Code that is compiled, linked, discarded and swept

let textsMade = 0;

// Computes the same as the functions of hotText().
function modelHot(n, start, factor) {
    let x = start;
    for (let i = 0; i < n; i++) {
        x = (Math.imul(x, factor) + i) | 0;
    }
    return x;
}

// A text of a function that is inlined into another. Each text has its own number.
function hotText(factor) {
    return `// ${textsMade++}
        function hotInner(x, i) { return (Math.imul(x, ${factor}) + i) | 0; }
        return function hotOuter(n, start) {
            let x = start;
            for (let i = 0; i < n; i++) { x = hotInner(x, i); }
            return x;
        };`;
}

function runHot(hot, calls, factor) {
    for (let i = 0; i < calls; i++) {
        checkRead(hot(i & 31, i), modelHot(i & 31, i, factor), "what new code computes", i);
    }
}

let hotFactor = 0;
let hotFunction = null;

function callHot() {
    runHot(hotFunction, random.oneOf([10, 200, 2000]), hotFactor);
    return INSIDE;
}

function droppedCode() {
    for (let i = 0; i < 5; i++) {
        hotFactor = 2 * random.below(1000) + 1;
        hotFunction = new Function(hotText(hotFactor))();
        if (random.chance(0.3)) {
            goThrough(callHot);
        } else {
            callHot();
        }
    }
}

// Functions that are kept for some time. They become hot again each time that their code is discarded.
const MOST_HOT = 40;
const hotOnes = [];

function linkedCode() {
    if (hotOnes.length < MOST_HOT || random.chance(0.3)) {
        const factor = 2 * random.below(1000) + 1;
        hotOnes.push({ factor, hot: new Function(hotText(factor))() });
        if (hotOnes.length > MOST_HOT) {
            hotOnes.splice(random.below(MOST_HOT), 1);
        }
    }
    for (let i = 0; i < 10; i++) {
        const { hot, factor } = random.oneOf(hotOnes);
        runHot(hot, 300, factor);
    }
}

const BAILING = `// NUMBER
    function bailInner(a, b) { return a + b; }
    function bailField(object) { return object.value; }
    return function bailOuter(list, objects, n) {
        let sum = list[0];
        for (let i = 1; i < n; i++) { sum = bailInner(sum, list[i]); }
        return objects === null ? sum : [sum, bailField(objects[n % objects.length])];
    };`;

// Integers, then doubles, an overflow, strings and big integers.
const BAIL_LISTS = [
    { list: [1, 2, 3, 4], sums: [0, 1, 3, 6, 10] },
    { list: [0.5, 1.5, 2.5, 3.5], sums: [0, 0.5, 2, 4.5, 8] },
    { list: [2 ** 30, 2 ** 30, 2 ** 30, 2 ** 30], sums: [0, 2 ** 30, 2 ** 31, 3 * 2 ** 30, 2 ** 32] },
    { list: ["a", "b", "c", "d"], sums: ["", "a", "ab", "abc", "abcd"] },
    { list: [1n, 2n, 3n, 4n], sums: [0n, 1n, 3n, 6n, 10n] },
    { list: [1, "b", 2.5, null], sums: [0, 1, "1b", "1b2.5", "1b2.5null"] },
];

function bailGet() {
    return 3;
}

const BAIL_OBJECTS = [
    { value: 0 },
    { other: 1, value: 1 },
    Object.create({ value: 2 }),
    Object.defineProperty({}, "value", { get: bailGet }),
    new Proxy({ value: 4 }, {}),
];

function bailouts() {
    const bail = new Function(BAILING.replace("NUMBER", textsMade++))();
    for (let phase = 0; phase < 8; phase++) {
        const { list, sums } = BAIL_LISTS[phase === 0 ? 0 : random.below(BAIL_LISTS.length)];
        const calls = phase === 0 ? 1500 : random.oneOf([1, 10, 200]);
        for (let i = 0; i < calls; i++) {
            const n = 1 + (i & 3);
            checkRead(bail(list, null, n), sums[n], "sums of values of all types", n);
            if (phase > 0) {
                const objects = phase & 1 ? BAIL_OBJECTS.slice(0, 1) : BAIL_OBJECTS;
                const [sum, field] = bail(list, objects, n);
                checkRead(sum, sums[n], "sums beside a field", n);
                checkRead(field, n % objects.length, "a field of objects of all shapes", n);
            }
        }
    }
}

// Exceptions through functions of the engine

class Thrown extends Error {
    constructor(n) {
        super("thrown");
        this.n = n;
    }
}

let thrownNumber = 0;
let thrownDepth = 0;
let cleaned = 0;

function throwInside() {
    throw new Thrown(thrownNumber);
}

function throwDeep() {
    return throwAt(thrownDepth);
}

function throwAt(depth) {
    try {
        return depth === 0 ? throwInside() : throwAt(depth - 1);
    } finally {
        cleaned++;
    }
}

function exceptionsThrough() {
    for (let i = 0; i < 40; i++) {
        const way = random.oneOf(WAYS);
        thrownNumber = i;
        thrownDepth = random.below(30);
        cleaned = 0;
        const body = i & 1 ? throwInside : throwDeep;
        let caught = null;
        try {
            way(body);
        } catch (error) {
            caught = error;
        }
        checkRead(caught instanceof Thrown, true, "an exception through", way.name);
        checkRead(caught?.n, i, "number of an exception through", way.name);
        checkRead(caught?.message, "thrown", "message of an exception through", way.name);
        checkRead(cleaned, i & 1 ? 0 : thrownDepth + 1, "finally, of an exception through", way.name);
        checkRead(caught?.stack.includes("throwInside"), true, "stack of an exception through", way.name);
    }
}

// WebAssembly that is compiled again and again, and tiered up while it runs

// The number in LEB128.
function signedBytes(n) {
    const bytes = [];
    for (;;) {
        const byte = n & 0x7f;
        n >>= 7;
        if ((n === 0 && (byte & 0x40) === 0) || (n === -1 && (byte & 0x40) !== 0)) {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
    }
}

function unsignedBytes(n) {
    const bytes = [];
    for (; n > 127; n >>>= 7) {
        bytes.push((n & 0x7f) | 0x80);
    }
    bytes.push(n);
    return bytes;
}

function sized(bytes) {
    return [...unsignedBytes(bytes.length), ...bytes];
}

function section(id, bytes) {
    return [id, ...sized(bytes)];
}

function exported(name, index) {
    return [...sized([...name].map(codeOf)), 0, ...unsignedBytes(index)];
}

function codeOf(character) {
    return character.charCodeAt(0);
}

// (module
//   (import "js" "callee" (func $callee (param i32) (result i32)))
//   (memory 1)
//   (func (export "spin") (param $n i32) (result i32) (local $x i32)
//     (loop
//       (local.set $x (i32.add (i32.mul (local.get $x) (i32.const FACTOR)) (local.get $n)))
//       (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
//     (local.get $x))
//   (func (export "through") (param $n i32) (result i32)
//     (i32.add (call $callee (local.get $n)) (call $spin (local.get $n))))
//   (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
//   (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 100) (local.get 0)))
//   and as many functions like $spin as it is to be large)
function moduleBytes(factor, more) {
    const spin = sized([
        0x01, 0x01, 0x7f,
        0x03, 0x40,
        0x20, 0x01, 0x41, ...signedBytes(factor), 0x6c, 0x20, 0x00, 0x6a, 0x21, 0x01,
        0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00, 0x0d, 0x00,
        0x0b,
        0x20, 0x01, 0x0b,
    ]);
    const bodies = [
        spin,
        sized([0x00, 0x20, 0x00, 0x10, 0x00, 0x20, 0x00, 0x10, 0x01, 0x6a, 0x0b]),
        sized([0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b]),
        sized([0x00, 0x41, ...signedBytes(100), 0x20, 0x00, 0x6d, 0x0b]),
        ...Array(more).fill(spin),
    ];
    const exports = ["spin", "through", "load", "divide"].flatMap(function exportFunction(name, i) {
        return exported(name, i + 1);
    });
    return new Uint8Array([
        0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
        ...section(1, [0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f]),
        ...section(2, [0x01, 0x02, 0x6a, 0x73, 0x06, 0x63, 0x61, 0x6c, 0x6c, 0x65, 0x65, 0x00, 0x00]),
        ...section(3, [...unsignedBytes(bodies.length), ...bodies.map(firstType)]),
        ...section(5, [0x01, 0x00, 0x01]),
        ...section(7, [0x04, ...exports]),
        ...section(10, [...unsignedBytes(bodies.length), ...bodies.flat()]),
    ]);
}

function firstType() {
    return 0;
}

function modelSpin(n, factor) {
    let x = 0;
    do {
        x = (Math.imul(x, factor) + n) | 0;
        n--;
    } while (n !== 0);
    return x;
}

const MOST_MODULES = 6;
const modules = [];
let calledByWasm = 0;

function wasmCallee(n) {
    calledByWasm++;
    return n * 2;
}

function makeModule() {
    const factor = random.below(2 ** 31);
    const bytes = moduleBytes(factor, random.oneOf([0, 10, 300, 1500]));
    const module = new WebAssembly.Module(bytes);
    const { exports } = new WebAssembly.Instance(module, { js: { callee: wasmCallee } });
    modules.push({ factor, exports });
    if (modules.length > MOST_MODULES) {
        modules.splice(random.below(MOST_MODULES), 1);
    }
}

function callWasm() {
    const { factor, exports } = random.oneOf(modules);
    for (let i = 1; i < 60; i++) {
        checkRead(exports.spin(i), modelSpin(i, factor), "what WebAssembly computes", i);
        const calls = calledByWasm;
        checkRead(exports.through(i), (i * 2 + modelSpin(i, factor)) | 0, "what WebAssembly calls", i);
        checkRead(calledByWasm, calls + 1, "calls by WebAssembly", i);
        checkRead(exports.divide(i), (100 / i) | 0, "what WebAssembly divides", i);
        checkRead(exports.load(i * 8), 0, "what WebAssembly loads", i);
    }
    checkRead(trapOf(exports.divide, 0), true, "a trap of a division");
    checkRead(trapOf(exports.load, -9), true, "a trap of a load");
    checkRead(exports.spin(3000), modelSpin(3000, factor), "what WebAssembly computes for long");
    return INSIDE;
}

function trapOf(trapping, argument) {
    try {
        trapping(argument);
    } catch (error) {
        return error instanceof WebAssembly.RuntimeError;
    }
    return false;
}

function wasmTiers() {
    if (modules.length < 2 || random.chance(0.3)) {
        makeModule();
    }
    for (let i = 0; i < 4; i++) {
        if (random.chance(0.3)) {
            goThrough(callWasm);
        } else {
            callWasm();
        }
    }
}

// Generators, and functions that functions of the engine call

function* countUp(from, to) {
    try {
        for (let i = from; i < to; i++) {
            const sent = yield i;
            checkRead(sent === undefined || sent === i * 3, true, "what a generator was sent", i);
        }
    } finally {
        generatorsEnded++;
    }
    return to;
}

function* delegate(n) {
    const end = yield* countUp(0, n);
    checkRead(end, n, "what a generator returned");
    yield* countUp(n, n + 2);
}

let generatorsEnded = 0;

function generators() {
    for (let n = 1; n < 40; n++) {
        generatorsEnded = 0;
        let i = 0;
        for (const value of delegate(n)) {
            checkRead(value, i++, "what a generator yields", n);
        }
        checkRead(i, n + 2, "how often a generator yields", n);
        checkRead([...countUp(0, n)].length, n, "values of a generator", n);
        checkRead(generatorsEnded, 3, "generators that have ended", n);

        const sent = countUp(0, 5);
        checkRead(sent.next().value, 0, "the first value of a generator", n);
        checkRead(sent.next(0).value, 1, "the second value of a generator", n);
        checkRead(sent.return(8).value, 8, "what a generator was returned by", n);
        checkRead(sent.next().done, true, "whether a generator is done", n);
    }
}

function compareNumbers(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

function square(n) {
    return n * n;
}

function isEven(n) {
    return (n & 1) === 0;
}

function addUp(sum, n) {
    return sum + n;
}

function bracket(digits) {
    return `[${digits}]`;
}

function addMark(key, value) {
    return typeof value === "number" ? value + 1 : value;
}

function callbacks() {
    for (let n = 1; n < 60; n++) {
        const list = Array.from({ length: n }, function fillBackwards(_, i) {
            return n - i;
        });
        list.sort(compareNumbers);
        for (let i = 0; i < n; i++) {
            checkRead(list[i], i + 1, "sorted numbers", i);
        }
        checkRead(list.map(square).at(-1), n * n, "mapped numbers", n);
        checkRead(list.filter(isEven).length, n >> 1, "filtered numbers", n);
        checkRead(list.reduce(addUp, 0), (n * (n + 1)) / 2, "reduced numbers", n);
        checkRead(list.findIndex(isEven), n > 1 ? 1 : -1, "found numbers", n);
        checkRead(Float64Array.from(list).sort(compareNumbers).at(-1), n, "sorted doubles", n);
        checkRead(`a${n}b${n}`.replace(/\d+/g, bracket), `a[${n}]b[${n}]`, "replaced text", n);
        checkRead(JSON.parse(`{"a":${n}}`, addMark).a, n + 1, "revived text", n);
        checkRead(JSON.stringify({ a: n }, addMark), `{"a":${n + 1}}`, "text of an object", n);
        checkRead(new Map(list.entries()).get(n - 1), n, "entries of a list", n);
    }
}

// Proxies and bound functions

const trapped = [];

const TRAPS = {
    get: function trapGet(target, key) {
        trapped.push(key);
        return target[key];
    },
    has: function trapHas(target, key) {
        return key in target;
    },
    set: function trapSet(target, key, value) {
        target[key] = value;
        return true;
    },
    deleteProperty: function trapDelete(target, key) {
        return delete target[key];
    },
    ownKeys: function trapKeys(target) {
        return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor: function trapDescriptor(target, key) {
        return Reflect.getOwnPropertyDescriptor(target, key);
    },
    apply: function trapApply(target, self, list) {
        return target(...list) + 1;
    },
    construct: function trapConstruct(target, [i]) {
        return new target(i + 1);
    },
};

function boundTarget(a, b, c) {
    return this.base + a * 100 + b * 10 + c;
}

function proxiesAndBound() {
    for (let i = 0; i < 60; i++) {
        const target = { a: i, b: i * 2 };
        const proxy = new Proxy(target, TRAPS);
        trapped.length = 0;
        checkRead(proxy.a, i, "what a trap gets", i);
        checkRead(trapped[0], "a", "what a trap was asked for", i);
        checkRead("b" in proxy && !("c" in proxy), true, "what a trap has", i);
        proxy.c = i * 3;
        checkRead(target.c, i * 3, "what a trap sets", i);
        checkRead(Object.keys(proxy).join(), "a,b,c", "keys by a trap", i);
        checkRead(delete proxy.a && target.a, undefined, "what a trap deletes", i);
        checkRead({ ...proxy }.b, i * 2, "what is copied by traps", i);
        checkRead(new Proxy(square, TRAPS)(i), i * i + 1, "a call by a trap", i);
        checkRead(new (new Proxy(Record, TRAPS))(i).a, i + 1, "what a trap constructs", i);

        const bound = boundTarget.bind({ base: 1000 }, i & 7);
        checkRead(bound(2, 3), 1023 + (i & 7) * 100, "a bound function", i);
        checkRead(bound.bind(null, 4)(5), 1045 + (i & 7) * 100, "a function that was bound twice", i);
        checkRead(bound.name, "bound boundTarget", "name of a bound function", i);
        checkRead(bound.length, 2, "length of a bound function", i);
        checkRead(new (Record.bind(null, i))().a, i, "what a bound constructor makes", i);
    }
}

// Getters and setters of the DOM, only in documents

function onChanged(event) {
    checkRead(event.type, "changed", "type of an event in its listener");
    checkRead(event.target, subject, "target of an event in its listener");
    changeElement();
}

function changeElement() {
    const element = subject;
    for (let i = 0; i < 20; i++) {
        element.title = `title ${i}`;
        checkRead(element.title, `title ${i}`, "title", i);
        checkRead(element.getAttribute("title"), `title ${i}`, "attribute title", i);
        element.id = `id${i}`;
        checkRead(element.id, `id${i}`, "id", i);
        element.tabIndex = i;
        checkRead(element.tabIndex, i, "tabIndex", i);
        element.className = `one c${i}`;
        checkRead(element.classList.contains(`c${i}`), true, "classList", i);
        checkRead(element.classList.length, 2, "length of classList", i);
        element.dataset.number = i;
        checkRead(element.dataset.number, `${i}`, "dataset", i);
        checkRead(element.tagName, "P", "tagName", i);
        checkRead(element.nodeType, 1, "nodeType", i);
        checkRead(element.ownerDocument, document, "ownerDocument", i);
    }
    element.textContent = "text";
    checkRead(element.firstChild.data, "text", "text of an element");
    checkRead(element.childNodes.length, 1, "number of an element's nodes");
    return INSIDE;
}

function elementGet() {
    return changeElement();
}

function domGetters() {
    if (!hasDocument) {
        return callbacks();
    }
    const element = document.createElement("p");
    element.style.height = "20px";
    document.body.append(element);
    subject = Object.defineProperty(element, "foo", { get: elementGet, configurable: true });
    switch (random.below(3)) {
        case 0:
            checkRead((0, eval)(random.oneOf(GETS)), INSIDE, "what an element's getter gave");
            break;
        case 1:
            goThrough(changeElement);
            break;
        default:
            element.addEventListener("changed", onChanged);
            checkRead(element.dispatchEvent(new Event("changed")), true, "dispatchEvent");
    }
    if (random.chance(0.2)) {
        checkRead((0, eval)("subject.offsetHeight"), 20, "offsetHeight");
    }
    checkRead((0, eval)("subject.title = 'other'; subject.title"), "other", "title that eval set");
    checkRead(document.body.lastChild, element, "the last element");
    element.remove();
    checkRead(element.isConnected, false, "whether an element is connected that was removed");
}

// Realms that go away while their functions run, only in documents. Workers come and go by the actions.

const FRAME_TEXT = `let sum = 0;
    function frameInner(i) { return callee(i) + 1; }
    for (let i = 0; i < n; i++) { sum += frameInner(i); }
    return sum;`;
const MOST_FRAME_FUNCTIONS = 5;
// Frames are costly in Servo 0.7.0, and their memory is kept for a long time.
const ROUNDS_BETWEEN_FRAMES = 40;
const frameFunctions = [];
let removedFrame = null;
let removedAt = 0;
let roundsWithoutFrame = 0;

function frameCallee(i) {
    if (i === removedAt) {
        removedFrame?.remove();
    }
    return i * 2;
}

function plainCallee(i) {
    return i * 2;
}

function addFrameFunction() {
    removedFrame = document.createElement("iframe");
    document.body.append(removedFrame);
    const { Function, Array: FrameArray, Object: FrameObject } = removedFrame.contentWindow;
    const frameFunction = new Function("callee", "n", FRAME_TEXT);
    removedAt = random.below(200);
    checkRead(frameFunction(frameCallee, 200), 199 * 200 + 200, "a function of a frame that is removed");
    checkRead(removedFrame.isConnected, false, "whether a frame is connected that was removed");
    checkRead(FrameArray.from([1, 2], plainCallee)[1], 4, "a built-in of a frame that was removed");
    checkRead(FrameArray.name, "Array", "the name of a built-in of a frame that was removed");
    checkRead(FrameObject.keys({ a: 1 })[0], "a", "keys by a frame that was removed");
    frameFunctions.push(frameFunction);
    if (frameFunctions.length > MOST_FRAME_FUNCTIONS) {
        frameFunctions.shift();
    }
    removedFrame = null;
}

function callFrameFunctions() {
    for (const frameFunction of frameFunctions) {
        for (let n = 1; n < 100; n++) {
            checkRead(frameFunction(plainCallee, n), (n - 1) * n + n, "a function of a frame that was removed", n);
        }
    }
    return INSIDE;
}

function leavingRealms() {
    // In a sandbox every frame has its own origin.
    if (!hasDocument || origin === "null") {
        return exceptionsThrough();
    }
    if (roundsWithoutFrame++ >= ROUNDS_BETWEEN_FRAMES || !frameFunctions.length) {
        roundsWithoutFrame = 0;
        addFrameFunction();
    }
    goThrough(callFrameFunctions);
}

// The call graph

const WAY_NAMES = WAYS.map(nameOf).join(", ");
const BODY_NAMES = [
    redefineOften, redefineInAllWays, addSlots, assignSlots, defineSlots, deleteSlots, pushElements, workOnTable,
    fillTable, changeShapes, askInterface, churn, litter, callHot, callWasm, throwInside, throwDeep, changeElement,
    callFrameFunctions,
].map(nameOf).join(", ");

function nameOf(called) {
    return called.name;
}

function listCalls(callees) {
    return function listCallsOf(caller) {
        return `${caller.name} > ${callees}`;
    };
}

const BY_GETTER = [
    throughEvalGet, throughEntries, throughAssign, throughSpread, throughReflectGet, throughInherited, throughEvent,
];
const BY_SETTER = [throughEvalSet, throughReflectSet];
const BY_OTHERS = [...BY_GETTER, ...BY_SETTER, throughGenerator, throughWasm];

function isDirect(way) {
    return !BY_OTHERS.includes(way);
}

const CALLS = `
${WAYS.filter(isDirect).map(listCalls(BODY_NAMES)).join("\n")}
${BY_GETTER.map(listCalls("getInside")).join("\n")}
${BY_SETTER.map(listCalls("setInside")).join("\n")}
getInside > ${BODY_NAMES}
setInside > ${BODY_NAMES}
throughGenerator > yieldInside
yieldInside > ${BODY_NAMES}
throughWasm > wasm-function[1]
wasm-function[1] > ${BODY_NAMES}
goThrough > ${WAY_NAMES}

turn > runChanges
runForSomeTime > runChanges
runChanges > makeStanding, runRound
runRound > readStanding
makeStanding > makeRecord
makeRecord > Record, WideRecord
WideRecord > Record
readStanding > readRecords, readNumbers, readWords
readRecords > get sum
compiledReads > writeRecords, readRecords, readNumbers, readWords

redefinedAccessors > makeHolder, goThrough, startGet, startSet, evaluated
makeHolder > WideRecord
evaluated > startGet, heldGet, elementGet
startGet > redefineOften, redefineInAllWays
startSet > redefineOften, redefineInAllWays
redefineOften > redefinedGet
redefineInAllWays > redefinedGet

growingSlots > makeGrowing, goThrough, growGet, growSet
makeGrowing > Record
growGet > addSlots, assignSlots, defineSlots, deleteSlots, pushElements
growSet > addSlots, assignSlots, defineSlots, deleteSlots, pushElements
addSlots > checkSlots
assignSlots > checkSlots
defineSlots > checkSlots
deleteSlots > addSlots
pushElements > addSlots

propertyTables > makeTable, deleteKey, goThrough, workGet, workSet
workGet > workOnTable, fillTable
workSet > workOnTable, fillTable
workOnTable > askDescriptors, askPresence, askValues, askOrder, changeTable
fillTable > addKey
askDescriptors > valueOfTable
askValues > valueOfTable
askOrder > isTableKey
changeTable > addKey, deleteKey, valueOfTable, checkWork

shapesAndPrototypes > goThrough, heldGet, evaluated
heldGet > changeShapes
changeShapes > Fields, MoreFields, get secret
MoreFields > Fields

interfaceObjects > chooseInterface, goThrough, constructEvent, constructPairs, initGet
chooseInterface > addInterfaceKeys
constructPairs > chooseInterface, initPairs
constructEvent > initGet
initGet > askInterface, changeInterface
initPairs > askInterface
changeInterface > addInterfaceKeys, askInterface
addInterfaceKeys > interfaceValue
askInterface > interfaceValue, askInterfaceName

minorCollections > goThrough
churn > makeClosure, churned, churnSort
churnSort > makeClosure, churned
majorCollections > goThrough
litter > makeClosure, addSurvivor, checkSurvivors
addSurvivor > makeClosure
checkSurvivors > churned

droppedCode > goThrough, callHot, hotText
callHot > runHot
linkedCode > runHot, hotText
runHot > hotOuter, modelHot
hotOuter > hotInner
bailouts > bailOuter
bailOuter > bailInner, bailField
bailField > bailGet

exceptionsThrough > ${WAY_NAMES}
throwInside > Thrown
throwDeep > throwAt
throwAt > throwAt, throwInside

wasmTiers > makeModule, goThrough, callWasm
makeModule > moduleBytes
callWasm > wasm-function[1], wasm-function[2], wasm-function[3], wasm-function[4], modelSpin, trapOf
trapOf > wasm-function[3], wasm-function[4]
wasm-function[2] > wasm-function[1], wasmCallee

generators > delegate, countUp
delegate > countUp
callbacks > fillBackwards, compareNumbers, square, isEven, addUp, bracket, addMark
proxiesAndBound > trapGet, trapHas, trapSet, trapDelete, trapKeys, trapDescriptor, trapApply, trapConstruct, boundTarget
proxiesAndBound > Record
trapApply > square
trapConstruct > Record

domGetters > callbacks, goThrough, elementGet, evaluated, onChanged
elementGet > changeElement
onChanged > changeElement
leavingRealms > exceptionsThrough, goThrough, addFrameFunction
addFrameFunction > frameCallee, plainCallee
callFrameFunctions > plainCallee
`;

// The programs and their weights. The data that a walk is most likely to ask about has most of the time.

const CHANGES = new Map([
    [compiledReads, 2],
    [redefinedAccessors, 30],
    [growingSlots, 5],
    [propertyTables, 60],
    [shapesAndPrototypes, 15],
    [interfaceObjects, 28],
    [minorCollections, 6],
    [majorCollections, 3],
    [droppedCode, 2],
    [linkedCode, 6],
    [bailouts, 3],
    [exceptionsThrough, 3],
    [wasmTiers, 3],
    [generators, 6],
    [callbacks, 5],
    [proxiesAndBound, 6],
    [domGetters, 2],
    [leavingRealms, 4],
]);
const CHANGE_WEIGHTS = Object.fromEntries([...CHANGES].map(function byName([change, weight]) {
    return [change.name, weight];
}));
const CHANGES_BY_NAME = Object.fromEntries([...CHANGES.keys()].map(function byItsName(change) {
    return [change.name, change];
}));
if (changesEngine) {
    callGraph.add(`runRound > ${Object.keys(CHANGES_BY_NAME).join(", ")}${CALLS}`);
}
// The functions that may have only callers of the graph.
const CHANGING_FUNCTIONS = new Set(CALLS.split("\n").flatMap(function calleesOf(line) {
    return line.split(" > ")[1]?.split(", ") ?? [];
}).concat(Object.keys(CHANGES_BY_NAME)));

function runRound(change) {
    const before = checkedReads;
    try {
        change();
    } catch (error) {
        if (!isPlanned(error)) {
            reportFailure(`${change.name} failed: ${describe(error)}`);
        }
    }
    tally(`checkedReads of ${change.name}`, checkedReads - before);
}

function makeKeys() {
    for (let i = 0; i < MOST_SLOTS; i++) {
        SLOT_KEYS.push(`s${i}`);
    }
    for (let i = 0; i < LARGEST_TABLE; i++) {
        TABLE_KEYS.push(`k${i}`);
    }
}

function runChanges() {
    if (!records.length) {
        makeStanding();
        makeKeys();
    }
    const end = performance.now() + SLICE;
    const first = checkedReads;
    do {
        runRound(CHANGES_BY_NAME[random.weighted(CHANGE_WEIGHTS)]);
    } while (performance.now() < end);
    runRound(readStanding);
    tally("checkedReads", checkedReads - first);
}

// The built-ins that may be in a trace: those that code on this event loop calls, directly or through another built-in.

const BUILT_INS = new Set([
    // Constructors
    ...EVENTS,
    ...namesIn(`Array BigInt64Array Blob DecompressionStream Error Float64Array Function Instance Int32Array Map
        Module Number Object PerformanceObserver Profiler Promise Proxy Response Set String URL URLSearchParams
        Uint8Array WeakMap WeakRef Worker XMLHttpRequest`),
    // Of objects and functions. Additions call valueOf.
    ...namesIn(`[Symbol.hasInstance] apply assign bind call construct create defineProperty entries freeze fromEntries
        get getOwnPropertyDescriptor getPrototypeOf hasOwn hasOwnProperty isExtensible isFrozen keys ownKeys
        preventExtensions propertyIsEnumerable seal set setPrototypeOf toString valueOf values`),
    // Of arrays, maps, strings and numbers
    ...namesIn(`[Symbol.iterator] add at charCodeAt clear concat delete deref every exec fill filter find findIndex
        flat flatMap floor forEach from has imul includes indexOf isArray join map match max min next parse push random
        matchAll reduce repeat replace return reverse setFloat64 shift slice some sort splice split startsWith stringify
        test then throw toUpperCase transfer trim`),
    // Of documents and event loops
    ...namesIn(`addEventListener append back close contains createElement createObjectURL disconnect dispatchEvent
        fetch forward garbageCollectAllContexts getAttribute getBoundingClientRect getEntries json now observe open
        pipeThrough postMessage preventDefault profile pushState querySelectorAll reload remove revokeObjectURL send
        setInterval setTimeout stop stream terminate`),
    ...namesIn(`body bubbles childNodes classList className closed contentWindow data dataset document error exports
        firstChild flags history href id isConnected lastChild length location message name navigator nodeType
        offsetHeight origin ownerDocument performance reason sampleCount size stack style tabIndex tagName target
        title type`).map(getterOf),
    ...namesIn(`className height href id onerror onmessage onsamplebufferfull sandbox src tabIndex textContent
        title`).map(setterOf),
]);
// Functions from texts for eval() and new Function() have no place.
const PLACELESS = new Set(["", "anonymous"]);

function namesIn(text) {
    return text.trim().split(/\s+/);
}

function getterOf(name) {
    return `get ${name}`;
}

function setterOf(name) {
    return `set ${name}`;
}

function checkBuiltIns(trace) {
    for (const [id, frame] of trace.frames.entries()) {
        const { name } = frame;
        const isPlaced = "resourceId" in frame || "line" in frame;
        if (!isPlaced && !PLACELESS.has(name) && !CHANGING_FUNCTIONS.has(name) && !BUILT_INS.has(name)) {
            const stackId = trace.stacks.findIndex(function isOf({ frameId }) {
                return frameId === id;
            });
            reportFailure(`${name} is in a trace, which nothing has called, as ${example(trace, stackId)}`);
        }
    }
}
