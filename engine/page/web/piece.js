// A piece of a graph as a picture. Places are dagre's.
'use strict';

const ruler = document.createElement('canvas').getContext('2d');
const fonts = { op: '600 13px sans-serif', sub: '10.5px monospace' };
{
  const style = getComputedStyle(document.documentElement);
  fonts.op = `600 13px ${style.getPropertyValue('--sans')}`;
  fonts.sub = `10.5px ${style.getPropertyValue('--mono')}`;
}
function width(text, font) {
  ruler.font = fonts[font];
  return ruler.measureText(text).width;
}

// A box: { key, id, op, name, inputs, outputs, constants, state, near }, where values are keys and `id`
// is a node of the model, or -1. `shapeOf(value)` labels an edge, `nameOf(value)` a value at the rim.
function layOut(boxes, shapeOf, nameOf, shapes) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'TB', nodesep: 26, ranksep: shapes ? 42 : 30, edgesep: 14, marginx: 6, marginy: 6 });
  graph.setDefaultEdgeLabel(() => ({}));
  const makers = new Map();
  for (const box of boxes) {
    const subs = [];
    if (box.name) subs.push(short(box.name, 30));
    if (box.constants.length) subs.push(short(box.constants.slice(0, 4).join(' · ') + (box.constants.length > 4 ? ' …' : ''), 36));
    box.label = short(box.op, 32);
    box.subs = subs;
    graph.setNode(box.key, {
      width: Math.ceil(Math.max(width(box.label, 'op'), ...subs.map((s) => width(s, 'sub')))) + 26,
      height: 28 + 14 * subs.length, box,
    });
    for (const v of box.outputs) makers.set(v, box.key);
  }
  const read = new Set();
  let edges = 0;
  const pill = (v, key) => {
    const label = short(nameOf(v), 26);
    if (!graph.hasNode(key)) graph.setNode(key, { width: Math.ceil(width(label, 'sub')) + 20, height: 20, pill: label, full: nameOf(v) });
    return key;
  };
  const edge = (from, to, v) => {
    const label = shapes ? shapeOf(v) : '';
    graph.setEdge(from, to, label ? { label, width: width(label, 'sub') + 6, height: 12, labelpos: 'c' } : {}, `e${edges++}`);
  };
  for (const box of boxes) {
    for (const v of new Set(box.inputs)) {
      read.add(v);
      // What lies beyond the rim of the piece is not drawn.
      if (makers.has(v)) edge(makers.get(v), box.key, v);
      else if (!box.near) edge(pill(v, 'in ' + v), box.key, v);
    }
  }
  for (const box of boxes) {
    for (const v of box.outputs) {
      if (!read.has(v) && !box.near) edge(box.key, pill(v, 'out ' + v), v);
    }
  }
  dagre.layout(graph);
  return graph;
}

function path(points) {
  const [first, ...rest] = points;
  let d = `M${first.x.toFixed(1)} ${first.y.toFixed(1)}`;
  for (let i = 0; i < rest.length - 1; ++i) {
    const a = rest[i], b = rest[i + 1];
    const last = i === rest.length - 2;
    const x = last ? b.x : (a.x + b.x) / 2, y = last ? b.y : (a.y + b.y) / 2;
    d += `Q${a.x.toFixed(1)} ${a.y.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}`;
  }
  if (rest.length === 1) d += `L${rest[0].x.toFixed(1)} ${rest[0].y.toFixed(1)}`;
  return d;
}

function tip(points) {
  const end = points[points.length - 1], from = points[points.length - 2];
  const angle = Math.atan2(end.y - from.y, end.x - from.x);
  const at = (turn, far) => `${(end.x + far * Math.cos(angle + turn)).toFixed(1)},${(end.y + far * Math.sin(angle + turn)).toFixed(1)}`;
  return `${end.x.toFixed(1)},${end.y.toFixed(1)} ${at(Math.PI - 0.42, 6)} ${at(Math.PI + 0.42, 6)}`;
}

function drawBox({ x, y, width: w, height, box }, choose) {
  const group = svg('g', {
    class: `node s${box.state}${box.near ? ' near' : ''}`, transform: `translate(${(x - w / 2).toFixed(1)} ${(y - height / 2).toFixed(1)})`,
    tabindex: box.id >= 0 ? 0 : false, role: box.id >= 0 ? 'button' : false, 'data-node': box.id,
    onclick: () => box.id >= 0 && choose(box.id),
    onkeydown: (e) => (e.key === 'Enter' || e.key === ' ') && (e.preventDefault(), choose(box.id)),
  }, svg('title', {}, `${box.op} ${box.name}`), svg('rect', { width: w, height }),
  svg('text', { class: 'op', x: w / 2, y: 19, 'text-anchor': 'middle' }, box.label));
  box.subs.forEach((sub, i) => group.append(svg('text', { class: 'sub', x: w / 2, y: 33 + 14 * i, 'text-anchor': 'middle' }, sub)));
  return group;
}

function draw(boxes, options) {
  if (boxes.length === 0) return h('p', { class: 'nothing' }, options.nothing || 'nothing');
  const graph = layOut(boxes, options.shapeOf, options.nameOf, options.shapes);
  const size = graph.graph();
  const picture = svg('svg', { viewBox: `0 0 ${Math.ceil(size.width)} ${Math.ceil(size.height)}`, width: Math.ceil(size.width), height: Math.ceil(size.height), role: 'img', 'aria-label': options.label });
  for (const id of graph.edges()) {
    const edge = graph.edge(id);
    picture.append(svg('path', { class: 'edge', d: path(edge.points) }), svg('polygon', { class: 'tip', points: tip(edge.points) }));
  }
  for (const id of graph.edges()) {
    const edge = graph.edge(id);
    if (edge.label) picture.append(svg('text', { class: 'shape', x: edge.x, y: edge.y + 3.5, 'text-anchor': 'middle' }, edge.label));
  }
  for (const id of graph.nodes()) {
    const node = graph.node(id);
    if (node.box) {
      picture.append(drawBox(node, options.choose));
    } else {
      picture.append(svg('g', { class: 'pill', transform: `translate(${(node.x - node.width / 2).toFixed(1)} ${(node.y - node.height / 2).toFixed(1)})` },
        svg('title', {}, node.full), svg('rect', { width: node.width, height: node.height }),
        svg('text', { x: node.width / 2, y: 13.5, 'text-anchor': 'middle' }, node.pill)));
    }
  }
  return picture;
}

// Nodes of the model on one side; those of `near` are their surroundings.
function boxesOf(ids, near, side) {
  const boxes = [];
  for (const id of ids) {
    const node = nodes[id], one = node.sides[side];
    if (!one) continue;
    const inputs = one.inputs.filter((v) => v >= 0);
    boxes.push({
      key: 'n' + id, id, op: one.op, name: nodeName(node, side), outputs: one.outputs.filter((v) => v >= 0),
      inputs: inputs.filter((v) => !values[v].constants[side]), near: near.has(id), state: node.state,
      constants: inputs.filter((v) => values[v].constants[side]).map((v) => constantLabel(values[v].constants[side])),
    });
  }
  return boxes;
}

function pane(title, picture) {
  return h('section', { class: 'pane' }, h('h3', {}, title), h('div', { class: 'canvas' }, picture));
}

// Two panes. Large pictures shrink, both alike, as far as they can still be read.
const SMALLEST = 0.62;
function pair(before, after) {
  const box = h('div', { class: 'pair' }, pane('Before', before), pane('After', after));
  const fit = () => {
    const pictures = [...box.querySelectorAll('svg')];
    const scales = pictures.map((picture) => (picture.closest('.canvas').clientWidth - 28) / picture.viewBox.baseVal.width);
    const scale = Math.max(SMALLEST, Math.min(1, ...scales));
    for (const picture of pictures) {
      picture.setAttribute('width', Math.floor(picture.viewBox.baseVal.width * scale));
      picture.setAttribute('height', Math.floor(picture.viewBox.baseVal.height * scale));
    }
  };
  new ResizeObserver(fit).observe(box);
  return box;
}

// Before and after of these nodes, with what stands next to them.
function pairOf(ids, near, choose) {
  const apart = new Set(near);
  const all = [...new Set([...ids, ...near])].sort((a, b) => a - b);
  const side = (s) => draw(boxesOf(all, apart, s), {
    shapeOf: (v) => shape(values[v].types[s]), nameOf: (v) => valueName(v, s), shapes: settings.shapes, choose,
    label: s ? 'the graph after' : 'the graph before', nothing: s ? 'nothing is left here' : 'nothing was here',
  });
  return pair(side(0), side(1));
}
