// The search box: nodes, values and rules by name.
'use strict';

const MOST_FOUND = 24;

// Nodes whose operator, name or values contain all words.
function findNodes(words) {
  const found = [];
  for (const node of nodes) {
    const hay = node.sides.flatMap((one, side) => (one ? [one.op, one.name, ...one.outputs.map((v) => (v < 0 ? '' : valueName(v, side)))] : [])).join('\n').toLowerCase();
    if (words.every((word) => hay.includes(word))) found.push(node.id);
    if (found.length > MOST_FOUND) break;
  }
  return found;
}
function findConstants(words) {
  const found = [];
  for (const value of values) {
    if (!value.constants[0] && !value.constants[1]) continue;
    const hay = value.names.filter((name) => name !== null).join('\n').toLowerCase();
    if (words.every((word) => hay.includes(word))) found.push(value.id);
    if (found.length >= 8) break;
  }
  return found;
}
function findRules(words) {
  return data.rules.map((rule, i) => [rule, i]).filter(([rule]) => words.every((word) => text(rule.name).toLowerCase().includes(word))).slice(0, 6).map(([, i]) => i);
}

function searchBox(actions) {
  const input = h('input', { type: 'search', placeholder: 'Search nodes, values, rules', 'aria-label': 'Search', autocomplete: 'off', spellcheck: 'false' });
  const found = h('div', { class: 'found', hidden: true, role: 'listbox' });
  const box = h('div', { class: 'search' }, input, h('kbd', {}, '/'), found);
  let at = -1;
  const close = () => { found.hidden = true; };
  const pick = (act) => () => { input.value = ''; close(); input.blur(); act(); };
  const entry = (act, mark, title, rest) => h('button', { role: 'option', tabindex: -1, onclick: pick(act) }, mark, h('span', { class: 'op' }, title), h('span', { class: 'mono' }, rest));
  const fill = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    at = -1;
    found.hidden = words.length === 0;
    if (found.hidden) return;
    const ids = findNodes(words), constants = findConstants(words), rules = findRules(words);
    const parts = [];
    if (rules.length) parts.push(h('h3', {}, 'Rules'), ...rules.map((i) => entry(() => actions.step(data.steps.findIndex((step) => step.rule === i)), '', text(data.rules[i].name), `${data.rules[i].count}×`)));
    if (ids.length) {
      parts.push(h('h3', {}, ids.length > MOST_FOUND ? `Nodes, the first ${MOST_FOUND}` : 'Nodes'), ...ids.slice(0, MOST_FOUND).map((id) =>
        entry(() => actions.around(id), h('span', { class: `mark s${nodes[id].state}`, title: STATES[nodes[id].state] }), lastSide(nodes[id]).op, nodeName(nodes[id]))));
    }
    if (constants.length) {
      parts.push(h('h3', {}, 'Constants'), ...constants.map((v) => {
        const side = values[v].constants[1] ? 1 : 0;
        const reader = values[v].readers[side][0];
        return entry(() => reader !== undefined && actions.around(reader), '', shape(values[v].constants[side].type) || 'scalar', valueName(v, side));
      }));
    }
    found.replaceChildren(...(parts.length ? parts : [h('p', { class: 'none' }, 'Nothing has this name.')]));
    found.scrollTop = 0;
  };
  input.addEventListener('input', fill);
  input.addEventListener('focus', fill);
  input.addEventListener('keydown', (e) => {
    const options = [...found.querySelectorAll('button')];
    if (e.key === 'Escape') { input.value = ''; close(); input.blur(); }
    else if (e.key === 'Enter' && options.length) options[Math.max(0, at)].click();
    else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      at = Math.min(options.length - 1, Math.max(0, at + (e.key === 'ArrowDown' ? 1 : -1)));
      options.forEach((option, i) => option.setAttribute('aria-selected', String(i === at)));
      if (options[at]) options[at].scrollIntoView({ block: 'nearest' });
    }
    e.stopPropagation();
  });
  document.addEventListener('pointerdown', (e) => { if (!box.contains(e.target)) close(); });
  return { box, focus: () => { input.focus(); input.select(); } };
}
