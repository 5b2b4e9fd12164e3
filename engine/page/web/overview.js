// The first sheet: sizes, operators, rules, what else differs.
'use strict';

function figure(what, before, after) {
  return h('div', { class: 'figure card' }, h('div', { class: 'what' }, what),
    h('div', { class: 'number' }, before === after ? after : [h('span', { class: 'before' }, before), h('span', { class: 'arrow' }, '→'), after]));
}

function operators() {
  const ops = new Map();
  for (const [side, stats] of [data.before, data.after].entries()) {
    for (const [op, n] of Object.entries(stats.ops)) {
      if (!ops.has(op)) ops.set(op, [0, 0]);
      ops.get(op)[side] = n;
    }
  }
  const most = Math.max(1, ...[...ops.values()].flat());
  if (!ops.size) return null;
  const rows = [...ops].sort((a, b) => Math.max(...b[1]) - Math.max(...a[1]) || (a[0] < b[0] ? -1 : 1));
  const bar = (kind, n) => h('i', { class: kind, style: `width: ${n === 0 ? 0 : Math.max(1.5, (100 * n) / most).toFixed(1)}%` });
  return h('section', { class: 'card' }, h('h2', {}, 'Operators'),
    h('div', { class: 'key' }, h('span', {}, h('i', { style: 'background: var(--faint); opacity: .45' }), 'before'), h('span', {}, h('i', { style: 'background: var(--accent)' }), 'after')),
    h('div', { class: 'bars' }, rows.map(([op, [before, after]]) => [h('span', { class: 'op' }, visible(op)), h('span', { class: 'bar' }, bar('before', before), bar('after', after)),
      h('span', { class: 'count' }, before === after ? String(after) : [h('span', { class: 'was' }, `${before} → `), String(after)])])));
}

function rulesThatFired(open) {
  if (!data.rules.length) return null;
  const first = new Map();
  data.steps.forEach((step, i) => first.has(step.rule) || first.set(step.rule, i));
  return h('section', { class: 'card' }, h('h2', {}, 'Rules that fired'), data.rules.map((rule, i) =>
    h('button', { class: 'rule-line', onclick: () => first.has(i) && open(first.get(i)) }, h('b', {}, text(rule.name)), h('span', { class: 'count' }, `${rule.count}×`), rule.doc && h('span', { class: 'doc' }, visible(rule.doc)))));
}

function interfaceOf() {
  const rows = (key, what) => {
    const names = new Map();
    for (const [side, stats] of [data.before, data.after].entries()) {
      for (const [name, type] of stats[key]) {
        if (!names.has(name)) names.set(name, [null, null]);
        names.get(name)[side] = type;
      }
    }
    return [...names].map(([name, [before, after]]) => h('tr', {}, h('td', { class: 'soft' }, what), h('td', {}, h('code', {}, visible(name))),
      h('td', {}, h('code', {}, before === after ? visible(after) : [h('span', { class: 'gone' }, before === null ? 'none' : visible(before)), ' → ', h('span', { class: 'new' }, after === null ? 'none' : visible(after))]))));
  };
  const all = [...rows('inputs', 'input'), ...rows('outputs', 'output')];
  if (!all.length) return null;
  const limited = all.slice(0, 40);
  return h('section', { class: 'card' }, h('h2', {}, 'Inputs and outputs'), h('table', {}, h('tbody', {}, limited)), all.length > 40 && h('p', { class: 'soft' }, `and ${all.length - 40} more`));
}

function listCard(title, entries, words) {
  if (!entries.length) return null;
  const body = h('tbody', {});
  let shown = 0;
  const more = h('button', { class: 'more', onclick: () => grow(200) }, '');
  const grow = (n) => {
    body.append(...entries.slice(shown, shown + n).map(words));
    shown = Math.min(entries.length, shown + n);
    more.hidden = shown >= entries.length;
    more.textContent = `${(entries.length - shown).toLocaleString('en')} more`;
  };
  grow(12);
  return h('section', { class: 'card' }, h('h2', {}, title), h('table', {}, body), more);
}

const fromTo = (before, after) => h('code', {}, h('span', { class: 'gone' }, text(before) || 'none'), ' → ', h('span', { class: 'new' }, text(after) || 'none'));

function showOverview(view, actions) {
  const touched = [GONE, NEW, CHANGED].map((state) => nodes.filter((node) => node.state === state).length);
  const signs = ['removed', 'added', 'changed'];
  const constants = values.filter((v) => (v.constants[0] === null) !== (v.constants[1] === null) || v.constants[0] !== v.constants[1]);
  view.replaceChildren(h('div', { class: 'sheet' },
    h('div', { class: 'figures' }, figure('Nodes', data.before.nodes.toLocaleString('en'), data.after.nodes.toLocaleString('en')),
      figure('Weights', bytes(data.before.bytes), bytes(data.after.bytes)),
      data.kind === 'run' ? h('div', { class: 'figure card' }, h('div', { class: 'what' }, 'Rewrites'), h('div', { class: 'number' }, data.rewrites.toLocaleString('en')), h('div', { class: 'soft' }, [...data.beside, ...(data.unseen > 0 ? [[data.unseen, 'without a step here']] : [])].map(([n, what]) => `${n.toLocaleString('en')} ${what}`).join(', ')))
        : h('div', { class: 'figure card' }, h('div', { class: 'what' }, 'Nodes touched'), h('div', { class: 'number' }, touched.reduce((a, b) => a + b).toLocaleString('en')),
          h('div', { class: 'soft' }, touched.map((n, i) => `${n} ${signs[i]}`).join(', ')))),
    data.warnings.length > 0 && listCard('Warnings', data.warnings, (w) => h('tr', {}, h('td', {}, visible(w)))),
    h('div', { class: 'columns' }, [rulesThatFired(actions.step), operators(), interfaceOf(),
      listCard('The model', data.model, ([what, before, after]) => h('tr', {}, h('td', {}, text(what)), h('td', {}, fromTo(before, after)))),
      listCard('Constants', constants, (v) => {
        const state = !v.constants[1] ? 0 : !v.constants[0] ? 1 : 2;
        const types = v.constants.filter(Boolean).map((c) => visible(c.type));
        return h('tr', {}, h('td', { class: 'sign ' + ['gone', 'new', 'other'][state], title: signs[state] }, '−+~'[state]), h('td', {}, h('code', {}, v.names[1] ?? v.names[0])),
          h('td', {}, h('code', { class: 'soft' }, [...new Set(types)].join(' → '))));
      })].filter(Boolean)),
    h('footer', {}, h('span', {}, `qrewrite ${data.version}`), h('button', { onclick: actions.licences }, 'Licences'))));
}
