// Runs the VS Code extension without VS Code: a stand-in for the editor's API that keeps what is registered
// and asks it as the editor would. Prints JSON. Started by test_vscode.py: FOLDER RULES, $QREWRITE.
'use strict';
const Module = require('module');
const path = require('path');
const fs = require('fs');

const registered = {}, events = {}, diagnostics = new Map(), messages = [], commands = {};
class Position { constructor(line, character) { Object.assign(this, {line, character}); } }
class Range {
  constructor(a, b, c, d) { this.start = new Position(a, b); this.end = new Position(c, d); }
}
const plain = name => ({[name]: class { constructor(...parts) { this.parts = parts; } }})[name];
const keep = name => (selector, provider, ...rest) => { registered[name] = {provider, rest}; return {dispose() {}}; };
const on = name => listener => { events[name] = listener; return {dispose() {}}; };
class WorkspaceEdit {
  constructor() { this.edits = []; }
  replace(uri, range, text) { this.edits.push({uri: uri.toString(), range, text}); }
}
const uri = text => ({toString: () => text});

const document = {
  text: fs.readFileSync(process.argv[3], 'utf8'), version: 1, languageId: 'qrewrite',
  uri: uri('file://' + process.argv[3]), getText() { return this.text; }
};
const vscode = {
  Position, Range, WorkspaceEdit, Uri: {parse: uri},
  Location: plain('Location'), Hover: plain('Hover'), MarkdownString: plain('MarkdownString'),
  DiagnosticRelatedInformation: plain('DiagnosticRelatedInformation'), CodeLens: plain('CodeLens'),
  SemanticTokens: plain('SemanticTokens'), SemanticTokensLegend: plain('SemanticTokensLegend'),
  Diagnostic: class { constructor(range, message, severity) { Object.assign(this, {range, message, severity}); } },
  DocumentSymbol: class { constructor(name, detail, kind, range, selection) { Object.assign(this, {name, detail, kind, range, selection}); } },
  CompletionItem: class { constructor(label, kind) { Object.assign(this, {label, kind}); } },
  CodeAction: class { constructor(title, kind) { Object.assign(this, {title, kind}); } },
  CodeActionKind: {QuickFix: 'quickfix'},
  languages: {
    match: (selector, d) => d.languageId === 'qrewrite' ? 10 : 0,
    createDiagnosticCollection: () => ({set: (u, list) => diagnostics.set(u.toString(), list), clear: () => diagnostics.clear(), dispose() {}}),
  },
  window: {},
  commands: {registerCommand: (name, run) => { commands[name] = run; return {dispose() {}}; }},
  workspace: {
    textDocuments: [document], getConfiguration: () => ({get: () => process.env.QREWRITE}),
    createFileSystemWatcher: () => ({onDidCreate: on('create'), onDidChange: on('fileChange'), onDidDelete: on('delete'), dispose() {}}),
    onDidOpenTextDocument: on('open'), onDidChangeTextDocument: on('change'), onDidCloseTextDocument: on('close'),
  },
};
for (const name of ['Hover', 'CompletionItem', 'Definition', 'Reference', 'DocumentSymbol', 'Rename', 'CodeActions', 'CodeLens', 'DocumentSemanticTokens']) {
  vscode.languages[`register${name}Provider`] = keep(name);
}
for (const kind of ['Error', 'Warning', 'Information']) vscode.window[`show${kind}Message`] = text => messages.push([kind, text]);

const load = Module._load;
Module._load = (name, ...rest) => name === 'vscode' ? vscode : load(name, ...rest);

async function until(condition) {
  for (let i = 0; i < 500; ++i) {
    const found = condition();
    if (found) return found;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
  throw new Error('nothing came');
}

function place(text, behind = 0) {
  const at = document.text.indexOf(text) + behind;
  const lines = document.text.slice(0, at).split('\n');
  return new Position(lines.length - 1, lines[lines.length - 1].length);
}

async function main() {
  const extension = require(path.join(process.argv[2], 'extension.js'));
  const context = {subscriptions: []};
  await extension.activate(context);
  const found = () => diagnostics.get(document.uri.toString());
  const out = {};
  await until(() => (found() || []).length > 0);
  out.diagnostics = found().map(d => ({line: d.range.start.line, message: d.message, severity: d.severity, code: d.code}));
  const ask = (name, method, ...parts) => registered[name].provider[method](document, ...parts);
  out.hover = (await ask('Hover', 'provideHover', place('Softmax'))).parts[0].parts[0];
  out.nothing = await ask('Hover', 'provideHover', new Position(0, 0 + 9));
  const items = await ask('CompletionItem', 'provideCompletionItems', place('Softmax', 5));
  const item = items.find(i => i.label === 'Softmax');
  out.item = {kind: item.kind, text: item.insertText, range: item.range};
  out.documentation = (await registered.CompletionItem.provider.resolveCompletionItem(item)).documentation.parts[0];
  out.definition = (await ask('Definition', 'provideDefinition', place('axis == 1'))).map(l => l.parts[1]);
  out.references = (await ask('Reference', 'provideReferences', place('axis == 1'), {includeDeclaration: true})).length;
  out.symbols = (await ask('DocumentSymbol', 'provideDocumentSymbols')).map(s => [s.name, s.kind, s.children.length]);
  out.prepared = (await ask('Rename', 'prepareRename', place('axis == 1'))).placeholder;
  out.renamed = (await ask('Rename', 'provideRenameEdits', place('axis == 1'), 'k')).edits.map(e => e.text);
  out.refused = await ask('Rename', 'provideRenameEdits', place('axis == 1'), 'rank').catch(e => e.message);
  const at = place('Rleu', 1);
  const actions = await ask('CodeActions', 'provideCodeActions', new Range(at.line, at.character, at.line, at.character));
  out.actions = actions.map(a => [a.title, a.edit.edits.map(e => e.text)]);
  out.tokens = (await ask('DocumentSemanticTokens', 'provideDocumentSemanticTokens')).parts[0].length % 5;
  const old = place('Rleu');
  const change = {range: new Range(old.line, old.character, old.line, old.character + 4), text: 'Relu'};
  document.text = document.text.replace('Rleu', 'Relu');
  document.version = 2;
  events.change({document, contentChanges: [change]});
  await until(() => found().every(d => d.severity > 0));
  const lenses = await ask('CodeLens', 'provideCodeLenses');
  out.lenses = lenses.map(l => l.parts[1].title);
  out.test = (await commands['qrewrite.runTests'](...lenses[1].parts[1].arguments)).passed;
  out.messages = messages.slice();
  await commands['qrewrite.restart']();
  await until(found);
  events.close(document);
  await until(() => found().length === 0);
  await extension.deactivate();
  console.log(JSON.stringify(out));
}

main().catch(error => { console.error(error); process.exit(1); });
