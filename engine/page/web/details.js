// What is known of one node: beside the picture, on demand.
'use strict';

const settings = { shapes: false };

function histogram(counts) {
  const most = Math.max(...counts, 1);
  const bars = counts.map((n, i) => svg('rect', { x: i * 4, y: 30 - (n / most) * 30, width: 3, height: (n / most) * 30 }));
  return svg('svg', { class: 'histogram', viewBox: `0 0 ${counts.length * 4} 30`, preserveAspectRatio: 'none', role: 'img', 'aria-label': 'how the numbers are spread' }, bars);
}

function constantDetails(constant) {
  const literal = (constant.text || '').slice(constant.type.length + 1);
  if (constant.text && !constant.range && literal.length < 44 && !literal.includes('\n')) return h('span', { class: 'mono' }, ` = ${visible(literal)}`);
  const facts = [bytes(constant.bytes)];
  if (constant.range) facts.push(`${constant.range[0]} … ${constant.range[1]}`, `mean ${constant.range[2]}`);
  return h('details', {}, h('summary', {}, facts.join(' · ')), constant.spread && histogram(constant.spread),
    constant.text && h('pre', {}, lines(constant.text)));
}

function operand(v, side, show) {
  if (v < 0) return h('div', { class: 'operand faint' }, 'absent');
  const value = values[v], constant = value.constants[side];
  const maker = value.makers[side];
  const name = valueName(v, side) || `%${v}`;
  return h('div', { class: 'operand' },
    maker >= 0 ? h('button', { onclick: () => show(maker) }, name) : h('code', {}, name), ' ',
    h('span', { class: 'type' }, constant ? constant.type : value.types[side] || ''), constant && constantDetails(constant));
}

function readers(v, side, show) {
  if (v < 0) return h('div', { class: 'operand faint' }, 'absent');
  const value = values[v];
  const list = value.readers[side];
  return h('div', { class: 'operand' }, h('code', {}, valueName(v, side) || `%${v}`), ' ', h('span', { class: 'type' }, value.types[side] || ''),
    list.length > 0 && h('div', { class: 'links' }, h('span', { class: 'faint' }, 'read by'),
      list.slice(0, 8).map((id) => h('button', { onclick: () => show(id) }, nodes[id].sides[side].op)), list.length > 8 && h('span', { class: 'faint' }, `and ${list.length - 8} more`)));
}

function describe(id, side, actions) {
  const node = nodes[id], one = node.sides[side] || lastSide(node);
  const at = node.sides[side] ? side : 1 - side;
  const place = data.graphs[node.graph].place;
  const steps = stepsOf(node);
  const parts = [
    h('div', { class: 'top' }, h('h2', {}, one.op), h('button', { class: 'close', 'aria-label': 'Close', onclick: actions.close }, '×')),
    h('p', { class: 'name mono' }, nodeName(node, at)),
    place && h('p', { class: 'soft' }, place),
    node.state !== SAME && h('p', { class: 'state ' + ['', 'gone', 'new', 'other'][node.state] }, STATES[node.state]),
    h('p', { class: 'links', style: 'margin-top: 10px' }, h('button', { onclick: () => actions.around(id) }, 'Show its surroundings')),
  ];
  if (node.differences.length) {
    parts.push(h('h3', {}, 'Changed'), node.differences.map(([what, before, after]) => h('div', { class: 'attribute' }, h('span', { class: 'soft' }, text(what)),
      h('span', { class: 'mono' }, h('span', { class: 'gone' }, text(before) || 'none'), ' → ', h('span', { class: 'new' }, text(after) || 'none')))));
  }
  const attributes = Object.entries(one.attributes || {});
  if (attributes.length) {
    parts.push(h('h3', {}, 'Attributes'), attributes.map(([name, value]) => h('div', { class: 'attribute' }, h('span', { class: 'soft' }, visible(name)), h('code', {}, visible(value)))));
  }
  parts.push(h('h3', {}, 'Inputs'), one.inputs.length ? one.inputs.map((v) => operand(v, at, actions.show)) : h('p', { class: 'faint' }, 'none'));
  parts.push(h('h3', {}, 'Outputs'), one.outputs.map((v) => readers(v, at, actions.show)));
  if (steps.length) {
    parts.push(h('h3', {}, 'Steps'), h('div', { class: 'links' }, steps.slice(0, 12).map((i) => h('button', { onclick: () => actions.step(i) }, `${data.steps[i].number} ${text(data.rules[data.steps[i].rule].name)}`))));
  }
  return parts.filter(Boolean);
}

// Steps that matched or made the node.
let stepIndex = null;
function stepsOf(node) {
  if (!stepIndex) {
    stepIndex = new Map();
    data.steps.forEach((step, i) => {
      for (const [op, , , outputs] of [...step.matched, ...step.made]) {
        for (const v of outputs) {
          const key = text(op) + '\n' + text(v);
          if (!stepIndex.has(key)) stepIndex.set(key, []);
          const list = stepIndex.get(key);
          if (list[list.length - 1] !== i) list.push(i);
        }
      }
    });
  }
  const found = new Set();
  for (const side of [0, 1]) {
    const one = node.sides[side];
    for (const v of one ? one.outputs : []) for (const i of (v >= 0 && stepIndex.get(one.op + '\n' + valueName(v, side))) || []) found.add(i);
  }
  return [...found].sort((a, b) => a - b);
}
