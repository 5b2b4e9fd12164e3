// The firings of a run, one after the other.
'use strict';

const ROW = 46;

// A list of any length of which only the rows in sight exist.
class LongList {
  constructor(box, make) {
    this.box = box;
    this.make = make;
    this.items = [];
    this.tall = h('div', { class: 'tall' });
    box.append(this.tall);
    box.addEventListener('scroll', () => this.paint());
    new ResizeObserver(() => this.paint()).observe(box);
  }
  set(items) {
    this.items = items;
    this.tall.style.height = `${items.length * ROW}px`;
    this.paint();
  }
  paint() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - 4);
    const last = Math.min(this.items.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + 4);
    const rows = [];
    for (let i = first; i < last; ++i) {
      const row = this.make(this.items[i]);
      row.style.top = `${i * ROW}px`;
      rows.push(row);
    }
    this.tall.replaceChildren(...rows);
  }
  reveal(i) {
    const top = i * ROW, seen = this.box.clientHeight;
    if (top < this.box.scrollTop || top + ROW > this.box.scrollTop + seen) this.box.scrollTop = top - seen / 3;
    this.paint();
  }
}

const stepName = (step) => {
  const view = step.matched[0] || step.made[0];
  return view ? text(view[1]) || (view[3].length ? text(view[3][0]) : '') : '';
};

// Nodes of a step: names, not entries of the model, which may never have had them.
function boxesOfStep(step, views, near, state) {
  const constants = new Set(step.constants);
  const shown = new Set();
  const one = (at) => ([op, name, inputs, outputs], i) => {
    const key = outputs.join(' ') || `${at}${i}`;
    if (shown.has(key)) return null;
    shown.add(key);
    const known = outputs.map((v) => byName.get(text(v))).find((v) => v !== undefined);
    const makers = known === undefined ? [] : values[known].makers;
    const id = makers.find((m) => m >= 0 && nodes[m].sides.some((s) => s && s.op === text(op)));
    const label = (v) => {
      const value = byName.get(text(v));
      const constant = value === undefined ? null : values[value].constants[0] || values[value].constants[1];
      return constant ? constantLabel(constant) : short(text(v), 14);
    };
    return {
      key, id: id === undefined ? nodesByName.get(text(op) + '\n' + text(name)) ?? -1 : id, op: text(op), name: text(name) || (outputs.length ? text(outputs[0]) : ''),
      inputs: inputs.filter((v) => text(v) && !constants.has(v)), outputs: outputs.filter((v) => text(v)),
      constants: inputs.filter((v) => constants.has(v)).map(label), near: at === 'near', state: at === 'near' ? SAME : state,
    };
  };
  return [...views.map(one('own')), ...near.map(one('near'))].filter(Boolean);
}

function stepPictures(step, choose) {
  const shapeOf = (v) => {
    const value = byName.get(text(v));
    return value === undefined ? '' : shape(values[value].types[0] || values[value].types[1]);
  };
  const side = (boxes, label, nothing) => draw(boxes, { shapeOf, nameOf: text, shapes: settings.shapes, choose, label, nothing });
  // A node that was there before and makes the value now is no new one.
  const before = boxesOfStep(step, step.matched, step.nearBefore, GONE);
  const created = new Set(step.created.map(([, name, , outputs]) => name + ' ' + outputs.join(' ')));
  const after = boxesOfStep(step, step.made, step.nearAfter, NEW);
  for (const box of after) {
    const own = step.made.find(([op, name, , outputs]) => outputs.join(' ') === box.key);
    if (own && !created.has(own[1] + ' ' + own[3].join(' '))) box.state = SAME;
  }
  return pair(side(before, 'the graph before the step', 'nothing'), side(after, 'the graph after the step', 'nothing takes their place'));
}

function stepPage(index, actions) {
  const step = data.steps[index], rule = data.rules[step.rule];
  const place = visible(`${rule.file}:${rule.line}`);
  return [
    h('div', { class: 'step-head' }, h('div', {}, h('h2', {}, text(rule.name)), h('code', { class: 'at' }, stepName(step)), rule.doc && h('p', { class: 'doc' }, visible(rule.doc))),
      h('div', { class: 'walk' }, h('button', { disabled: index === 0, 'aria-label': 'Previous step', onclick: () => actions.step(index - 1) }, '←'),
        h('span', {}, `${(index + 1).toLocaleString('en')} of ${data.steps.length.toLocaleString('en')}`),
        h('button', { disabled: index === data.steps.length - 1, 'aria-label': 'Next step', onclick: () => actions.step(index + 1) }, '→'))),
    h('div', { class: 'bar-line' }, h('span', { class: 'soft' }, [text(rule.set), step.phase && text(step.phase), step.number === 0 && 'changes nothing'].filter(Boolean).join(' · ')), actions.shapes()),
    stepPictures(step, actions.choose),
    h('details', { class: 'fold', open: true }, h('summary', {}, h('span', {}, 'As text')), h('div', { class: 'inside texts' }, h('pre', {}, lines(step.before)), h('pre', {}, lines(step.after) || '(nothing)'))),
    step.names.length > 0 && h('details', { class: 'fold', open: settings.names, ontoggle: (e) => { settings.names = e.target.open; } }, h('summary', {}, h('span', {}, 'Names of the rule'), h('span', { class: 'faint' }, `${step.names.length}`)),
      h('div', { class: 'inside' }, h('table', { class: 'names' }, h('tbody', {}, step.names.map(([name, words]) => h('tr', {}, h('th', { scope: 'row' }, text(name)), h('td', {}, visible(text(words))))))))),
    rule.source && h('details', { class: 'fold', open: settings.rule, ontoggle: (e) => { settings.rule = e.target.open; } }, h('summary', {}, h('span', {}, 'The rule'), h('code', { class: 'faint' }, place)), h('div', { class: 'inside' }, h('pre', {}, lines(rule.source)))),
  ];
}

function showSteps(view, index, actions) {
  let chosen = data.steps.map((_, i) => i);
  const select = h('select', { 'aria-label': 'Rules', onchange: () => { filter(); if (chosen.length) actions.step(chosen[0]); } }, h('option', { value: '' }, `All rules`),
    data.rules.map((rule, i) => h('option', { value: i }, `${text(rule.name)} (${rule.count})`)));
  const rows = h('div', { class: 'rows', tabindex: -1 });
  const body = h('div', { class: 'step' });
  let current = index;
  const list = new LongList(rows, (i) => {
    const step = data.steps[i];
    return h('button', { class: 'row', 'data-step': i, 'aria-current': i === current ? 'step' : false, onclick: () => actions.step(i) },
      h('span', { class: 'number' }, step.number || '·'), h('span', { class: 'rule' }, text(data.rules[step.rule].name)), h('span', { class: 'mono' }, stepName(step)));
  });
  const filter = () => {
    chosen = data.steps.map((_, i) => i).filter((i) => select.value === '' || data.steps[i].rule === Number(select.value));
    list.set(chosen);
  };
  view.replaceChildren(h('div', { class: 'steps' }, h('div', { class: 'list' }, h('div', { class: 'filter' }, select), rows), body));
  filter();
  const show = (i) => {
    current = i;
    body.replaceChildren(...stepPage(i, actions).filter(Boolean));
    body.scrollTop = 0;
    list.reveal(Math.max(0, chosen.indexOf(i)));
  };
  show(index);
  return {
    show,
    next: (by) => {
      const at = chosen.indexOf(current);
      const to = chosen[at < 0 ? 0 : at + by];
      if (to !== undefined) actions.step(to);
    },
  };
}
