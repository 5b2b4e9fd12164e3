// Both graphs from the inputs to the outputs: what changed side by side, what did not folded.
'use strict';

const AT_ONCE = 60;  // pieces; more on demand

function hunkTitle(ids) {
  const counts = [GONE, NEW, CHANGED].map((state) => ids.filter((id) => nodes[id].state === state).length);
  const kinds = ['gone', 'new', 'other'];
  const place = data.graphs[nodes[ids[0]].graph].place;
  return h('div', { class: 'title' }, h('h2', {}, visible(short(nodeName(nodes[ids[0]]), 60))), place && h('span', { class: 'soft' }, visible(place)),
    counts.map((n, i) => n > 0 && h('span', { class: kinds[i] }, `${n} ${STATES[i + 1]}`)));
}

// Equal nodes next to those of a piece.
function rim(ids) {
  const own = new Set(ids), near = new Set();
  for (const id of ids) {
    for (const side of [0, 1]) {
      for (const other of neighbours(id, side).slice(0, 6)) if (!own.has(other) && nodes[other].graph === nodes[id].graph && near.size < 10) near.add(other);
    }
  }
  return [...near];
}

function flow(ids, show) {
  const box = h('div', { class: 'flow' });
  const more = (from) => {
    box.append(...ids.slice(from, from + 120).map((id) => h('button', { onclick: () => show(id) }, lastSide(nodes[id]).op, h('span', { class: 'mono' }, short(nodeName(nodes[id]), 28)))));
    if (from + 120 < ids.length) {
      const button = h('button', { onclick: () => { button.remove(); more(from + 120); } }, `${(ids.length - from - 120).toLocaleString('en')} more`);
      box.append(button);
    }
  };
  more(0);
  return box;
}

function fold(ids, show) {
  if (ids.length === 0) return null;
  const button = h('button', { class: 'folded', 'aria-expanded': 'false', onclick: () => {
    const open = button.getAttribute('aria-expanded') === 'true';
    button.setAttribute('aria-expanded', String(!open));
    if (open) button.nextElementSibling.remove();
    else button.after(flow(ids, show));
  } }, count(ids.length, 'equal node'));
  return button;
}

function showChanges(view, actions) {
  const sheet = h('div', { class: 'sheet' });
  const pictures = new Map();
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      observer.unobserve(entry.target);
      const ids = pictures.get(entry.target);
      entry.target.replaceWith(pairOf(ids, rim(ids), actions.choose));
    }
  }, { root: view, rootMargin: '600px' });
  const touched = hunks.reduce((n, ids) => n + ids.length, 0);
  sheet.append(h('div', { class: 'bar-line' }, h('span', { class: 'soft' }, hunks.length ? `${count(touched, 'node')} in ${count(hunks.length, 'place')}; the others are equal` : `All ${nodes.length} nodes are equal`), actions.shapes()));
  let shown = 0, from = 0;
  const equal = (to) => {
    const ids = [];
    for (; from < to; ++from) if (nodes[from].state === SAME) ids.push(from);
    return ids;
  };
  const more = h('button', { class: 'folded', onclick: () => grow() }, '');
  const grow = () => {
    const parts = [];
    for (const end = Math.min(hunks.length, shown + AT_ONCE); shown < end; ++shown) {
      const ids = hunks[shown];
      parts.push(fold(equal(ids[0]), actions.choose));
      const empty = h('div', { class: 'pair' });
      pictures.set(empty, ids);
      parts.push(h('article', { class: 'hunk', 'data-hunk': shown }, hunkTitle(ids), empty));
      observer.observe(empty);
    }
    if (shown >= hunks.length) parts.push(fold(equal(nodes.length), actions.choose));
    more.remove();
    sheet.append(...parts.filter(Boolean));
    if (shown < hunks.length) {
      more.textContent = `${(hunks.length - shown).toLocaleString('en')} more places`;
      sheet.append(more);
    }
  };
  grow();
  view.replaceChildren(sheet);
  return {
    next: (by) => {
      const all = [...sheet.querySelectorAll('.hunk')];
      const top = view.getBoundingClientRect().top;
      const at = all.findIndex((one) => one.getBoundingClientRect().top > top + 20);
      const now = at < 0 ? all.length : at;
      const to = all[by > 0 ? now : Math.max(0, now - 2)];
      if (to) to.scrollIntoView({ block: 'start' });
    },
  };
}

// One node and what is near, on both sides.
function showAround(view, id, actions) {
  const near = around([id], settings.distance, 40);
  view.replaceChildren(h('div', { class: 'sheet' },
    h('div', { class: 'bar-line' }, h('h2', {}, `Around ${short(nodeName(nodes[id]) || lastSide(nodes[id]).op, 60)}`), h('span', { class: 'walk' }, actions.shapes(), h('span', {}, ''),
      h('button', { 'aria-label': 'Nearer', onclick: () => { settings.distance = Math.max(1, settings.distance - 1); actions.around(id); } }, '−'), h('span', {}, `${count(settings.distance, 'node')} away`),
      h('button', { 'aria-label': 'Farther', onclick: () => { settings.distance = Math.min(8, settings.distance + 1); actions.around(id); } }, '+'))),
    pairOf(near, [], actions.choose)));
  for (const box of view.querySelectorAll(`[data-node="${id}"]`)) box.classList.add('chosen');
}
