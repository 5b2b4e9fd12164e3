// Elements made from data. Text is always text: names of a model may hold anything.
'use strict';

function put(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
  return element;
}
const h = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => put(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

const count = (n, what) => `${n.toLocaleString('en')} ${what}${n === 1 ? '' : 's'}`;

function bytes(n) {
  let unit = 0;
  for (; n >= 1024 && unit < 4; ++unit) n /= 1024;
  return `${unit === 0 ? n : n.toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

// The beginning and the end of a long name: what tells names apart stands at the end.
function short(text, most) {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) / 3);
  return text.slice(0, head) + '…' + text.slice(text.length - (most - 1 - head));
}

// Characters that a reader would not see, or that turn the direction of writing, are spelt.
const visible = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
  (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const lines = (text) => text.split('\n').map(visible).join('\n');
