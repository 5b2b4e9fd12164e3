// The frame: which sheet is shown. The address says it (#steps/12), so that back and forward work.
'use strict';

settings.distance = 2;
settings.rule = true;
settings.names = true;
const view = h('div', { id: 'view', tabindex: -1 });
const side = h('aside', { id: 'details', 'aria-label': 'Details' });
const main = h('main', {}, view, side);
let sheet = null, place = '';

const SHEETS = [['overview', 'Overview'], ...(data.steps.length ? [['steps', 'Steps', data.steps.length]] : []), ['changes', 'Changes', hunks.length]];
const go = (hash) => {
  if (location.hash === hash) route();
  else location.hash = hash;
};

function choose(id) {
  const before = nodes[id].sides[1] ? 1 : 0;
  side.replaceChildren(...describe(id, before, { close: closeDetails, show: choose, around: actions.around, step: actions.step }).flat(3));
  side.scrollTop = 0;
  main.classList.add('with-details');
  for (const box of view.querySelectorAll('.node')) box.classList.toggle('chosen', box.dataset.node === String(id));
}
function closeDetails() {
  main.classList.remove('with-details');
  for (const box of view.querySelectorAll('.node.chosen')) box.classList.remove('chosen');
}

const actions = {
  step: (i) => i >= 0 && go(`#steps/${i + 1}`),
  around: (id) => go(`#around/${id}`),
  choose,
  licences: () => dialog('Licences', h('pre', {}, document.getElementById('licences').textContent.trim())),
  shapes: () => {
    const box = h('input', { type: 'checkbox', checked: settings.shapes, onchange: () => { settings.shapes = box.checked; place = ''; route(); } });
    return h('label', { class: 'toggle' }, box, 'Shapes');
  },
};

function route() {
  const [name, at] = decodeURIComponent(location.hash.slice(1)).split('/');
  const known = name === 'around' || SHEETS.some(([key]) => key === name);
  const now = known ? name : 'overview';
  for (const button of document.querySelectorAll('nav button')) {
    if (button.dataset.sheet === now) button.setAttribute('aria-current', 'page');
    else button.removeAttribute('aria-current');
  }
  if (now === 'steps') {
    const index = Math.min(data.steps.length, Math.max(1, Number(at) || 1)) - 1;
    if (place === 'steps') sheet.show(index);
    else sheet = showSteps(view, index, actions);
  } else if (now === 'around') {
    const id = Math.min(nodes.length - 1, Math.max(0, Number(at) || 0));
    if (nodes.length) showAround(view, id, actions);
    sheet = null;
    if (nodes.length && place !== 'around') choose(id);
    else if (nodes.length && main.classList.contains('with-details')) choose(id);
  } else if (now === 'changes') {
    sheet = showChanges(view, actions);
  } else {
    showOverview(view, actions);
    sheet = null;
  }
  if (place !== now) {
    view.scrollTop = 0;
    if (now !== 'around') closeDetails();
  }
  place = now;
}

function dialog(title, ...content) {
  const box = h('dialog', { onclose: () => box.remove(), onclick: (e) => e.target === box && box.close() }, h('h2', {}, title), content);
  document.body.append(box);
  box.showModal();
}

const search = searchBox(actions);
document.addEventListener('keydown', (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog') || /^(INPUT|SELECT)$/.test(e.target.tagName)) return;
  const by = { j: 1, ArrowRight: 1, k: -1, ArrowLeft: -1 }[e.key];
  if (by) { if (sheet && sheet.next) { e.preventDefault(); sheet.next(by); } }
  else if (e.key === '/') { e.preventDefault(); search.focus(); }
  else if (e.key === 'Escape') closeDetails();
  else if (/^[1-3]$/.test(e.key) && SHEETS[e.key - 1]) go('#' + SHEETS[e.key - 1][0]);
  else if (e.key === '?') dialog('Keys', h('div', { class: 'keys' }, [['j  →', 'next step, or place'], ['k  ←', 'the one before'], ['/', 'search'], ['1 2 3', 'sheets'], ['Esc', 'close']].map(([key, what]) => [h('span', {}, h('kbd', {}, key)), h('span', {}, what)])));
});

const file = (name) => h('span', { class: 'file', title: visible(name) }, h('bdi', {}, visible(name.split('/').pop())));
document.body.append(h('header', {}, h('h1', {}, file(data.before.title), h('span', { class: 'arrow' }, '→'), file(data.after.title)),
  h('nav', {}, SHEETS.map(([key, title, n]) => h('button', { 'data-sheet': key, onclick: (e) => { e.currentTarget.blur(); go('#' + key); } }, title, n !== undefined && h('span', { class: 'count' }, n.toLocaleString('en'))))), search.box), main);
window.addEventListener('hashchange', route);
if (!location.hash && data.steps.length) history.replaceState(null, '', '#overview');
route();
