// The two graphs as one: a node or value that both have is one entry with two sides, 0 before and 1 after.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const text = (i) => visible(data.strings[i]);
const SAME = 0, GONE = 1, NEW = 2, CHANGED = 3;
const STATES = ['unchanged', 'removed', 'added', 'changed'];

const values = data.values.map(([name, after, type, typeAfter, constant, constantAfter], id) => ({
  id, names: [name, after].map((i) => (i < 0 ? null : text(i))), types: [type, typeAfter].map((i) => (i < 0 ? null : text(i))),
  constants: [constant, constantAfter].map((i) => (i < 0 ? null : data.constants[i])), makers: [-1, -1], readers: [[], []],
}));

// One side of a node, as data.nodes has it.
const sideOf = ([op, name, inputs, outputs, attributes]) => ({ op: text(op), name: text(name), inputs, outputs, attributes });

const nodes = data.nodes.map(([state, graph, first, second, differences], id) => {
  const before = state === NEW ? null : sideOf(first);
  const after = state === GONE ? null : state === NEW ? sideOf(first) : second ? sideOf(second) : before;
  const node = { id, state, graph, sides: [before, after], differences: differences || [] };
  for (const side of [0, 1]) {
    if (!node.sides[side]) continue;
    for (const v of node.sides[side].outputs) if (v >= 0) values[v].makers[side] = id;
    for (const v of node.sides[side].inputs) if (v >= 0) values[v].readers[side].push(id);
  }
  return node;
});

const lastSide = (node) => node.sides[1] || node.sides[0];
const valueName = (v, side) => values[v].names[side] ?? values[v].names[1 - side] ?? '';
const nodeName = (node, side = node.sides[1] ? 1 : 0) => {
  const one = node.sides[side];
  const made = one.outputs.find((v) => v >= 0);
  return one.name || (made === undefined ? '' : valueName(made, side));
};

// "64×3×7×7" of "float[64, 3, 7, 7]"; a scalar is its number.
function shape(type) {
  const match = /\[(.*)\]$/.exec(type || '');
  return match ? match[1].replace(/, /g, '×') : '';
}
function constantLabel(constant) {
  const literal = /^[\w]+ (-?[\w.+-]+)$/.exec(constant.text || '');
  if (!literal) return shape(constant.type) || constant.type;
  return literal[1].length > 7 && Number.isFinite(Number(literal[1])) ? String(Number(Number(literal[1]).toPrecision(4))) : literal[1];
}

// What stands next to a node on one side.
function neighbours(id, side) {
  const one = nodes[id].sides[side];
  if (!one) return [];
  const near = [];
  for (const v of one.inputs) if (v >= 0 && values[v].makers[side] >= 0) near.push(values[v].makers[side]);
  for (const v of one.outputs) if (v >= 0) near.push(...values[v].readers[side].slice(0, 12));
  return near;
}

// Nodes at most `distance` away on either side, the nearest first.
function around(ids, distance, most) {
  const seen = new Set(ids);
  let edge = [...ids];
  for (let i = 0; i < distance && seen.size < most; ++i) {
    const next = [];
    for (const id of edge) {
      for (const side of [0, 1]) {
        for (const other of neighbours(id, side)) {
          if (seen.has(other) || seen.size >= most) continue;
          seen.add(other);
          next.push(other);
        }
      }
    }
    edge = next;
  }
  return [...seen].sort((a, b) => a - b);
}

// By name, for what a step mentions: its names are those of the model while it was rewritten.
const byName = new Map();
for (const value of values) {
  for (const name of value.names) if (name !== null && !byName.has(name)) byName.set(name, value.id);
}
const nodesByName = new Map();
for (const node of nodes) {
  for (const side of [0, 1]) {
    if (!node.sides[side]) continue;
    const key = node.sides[side].op + '\n' + node.sides[side].name;
    if (!nodesByName.has(key)) nodesByName.set(key, node.id);
  }
}

// --- what changed, in pieces that can be looked at

const MOST_OF_A_PIECE = 28;

// Changed nodes that hang together are a piece; a large one is cut along the order of the graph.
function makeHunks() {
  const touched = nodes.filter((node) => node.state !== SAME).map((node) => node.id);
  const parent = new Map(touched.map((id) => [id, id]));
  const root = (id) => {
    while (parent.get(id) !== id) {
      parent.set(id, parent.get(parent.get(id)));
      id = parent.get(id);
    }
    return id;
  };
  for (const id of touched) {
    for (const side of [0, 1]) {
      const one = nodes[id].sides[side];
      if (!one) continue;
      for (const v of one.inputs) {
        const maker = v >= 0 ? values[v].makers[side] : -1;
        if (maker >= 0 && nodes[maker].graph === nodes[id].graph && parent.has(maker)) parent.set(root(id), root(maker));
      }
      for (const v of one.outputs) {  // what made the value before, and what makes it now
        const other = v >= 0 ? values[v].makers[1 - side] : -1;
        if (other >= 0 && nodes[other].graph === nodes[id].graph && parent.has(other)) parent.set(root(id), root(other));
      }
    }
  }
  const pieces = new Map();
  for (const id of touched) {
    const key = root(id);
    if (!pieces.has(key)) pieces.set(key, []);
    pieces.get(key).push(id);
  }
  const hunks = [];
  for (const piece of pieces.values()) {
    for (let at = 0; at < piece.length; at += MOST_OF_A_PIECE) hunks.push(piece.slice(at, at + MOST_OF_A_PIECE));
  }
  hunks.sort((a, b) => a[0] - b[0]);
  return hunks;
}
const hunks = makeHunks();
