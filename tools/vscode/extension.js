// The editor's half: what VS Code asks for goes to `qrewrite lsp`, what that says comes back as objects
// of VS Code. Without packages: npm is not needed to build the extension.
'use strict';
const vscode = require('vscode');
const {Connection} = require('./rpc.js');

const SELECTOR = [{language: 'qrewrite'}];
let connection = null;
let findings = null;
let restarts = 0;

// --- from the protocol to the editor

const range = r => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const place = l => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const markdown = m => new vscode.MarkdownString(m.value);

function diagnostic(d) {
  const one = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  one.code = d.code;
  one.source = d.source;
  one.relatedInformation = (d.relatedInformation || []).map(
    r => new vscode.DiagnosticRelatedInformation(place(r.location), r.message));
  return one;
}

function workspaceEdit(edit) {
  const all = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes)) {
    for (const e of edits) all.replace(vscode.Uri.parse(uri), range(e.range), e.newText);
  }
  return all;
}

function symbol(s) {
  const one = new vscode.DocumentSymbol(s.name, s.detail || '', s.kind - 1, range(s.range), range(s.selectionRange));
  one.children = (s.children || []).map(symbol);
  return one;
}

function item(i) {
  const one = new vscode.CompletionItem(i.label, i.kind - 1);
  Object.assign(one, {detail: i.detail, sortText: i.sortText, insertText: i.textEdit.newText,
                      range: range(i.textEdit.range), filterText: i.filterText, wire: i});
  return one;
}

// --- from the editor to the protocol

const own = document => vscode.languages.match(SELECTOR, document) > 0;
const named = document => ({uri: document.uri.toString()});
const at = (document, position) =>
  ({textDocument: named(document), position: {line: position.line, character: position.character}});

async function ask(method, params, token, convert) {
  try {
    const result = await connection.ask(method, params, token);
    return result === null || result === undefined ? null : convert(result);
  } catch (error) {
    if (method === 'textDocument/rename') throw error;  // the editor shows why not
    return null;
  }
}

function open(document) {
  if (!own(document)) return;
  connection.tell('textDocument/didOpen', {textDocument: {
    uri: document.uri.toString(), languageId: 'qrewrite', version: document.version, text: document.getText()}});
}

function changed(event) {
  if (!own(event.document) || event.contentChanges.length === 0) return;
  connection.tell('textDocument/didChange', {
    textDocument: {...named(event.document), version: event.document.version},
    contentChanges: event.contentChanges.map(c => ({range: {start: c.range.start, end: c.range.end}, text: c.text}))});
}

// --- the server

async function start() {
  const command = vscode.workspace.getConfiguration('qrewrite').get('path');
  const told = (method, params) => {
    if (method === 'textDocument/publishDiagnostics') {
      findings.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic));
    } else if (method === 'window/showMessage') {
      const show = [null, 'showErrorMessage', 'showWarningMessage'][params.type] || 'showInformationMessage';
      vscode.window[show](params.message);
    }
  };
  const ended = why => {
    findings.clear();
    if (why instanceof Error || ++restarts > 3) {
      vscode.window.showErrorMessage(`qrewrite: the server \`${command} lsp\` does not run (${why.message || why}); see the setting qrewrite.path`);
    } else {
      start();
    }
  };
  connection = new Connection(command, told, ended);
  const initialize = {processId: process.pid, rootUri: null, capabilities: {}};
  const answer = await connection.ask('initialize', initialize).catch(() => null);
  if (!answer) return null;
  connection.tell('initialized', {});
  vscode.workspace.textDocuments.forEach(open);
  return answer.capabilities;
}

function provide(legend) {
  const l = vscode.languages;
  const list = convert => all => all.map(convert);
  return [
    l.registerHoverProvider(SELECTOR, {provideHover: (d, p, t) => ask('textDocument/hover', at(d, p), t,
      h => new vscode.Hover(markdown(h.contents), range(h.range)))}),
    l.registerCompletionItemProvider(SELECTOR, {
      provideCompletionItems: (d, p, t) => ask('textDocument/completion', at(d, p), t, r => r.items.map(item)),
      resolveCompletionItem: (i, t) => ask('completionItem/resolve', i.wire, t, r => {
        if (r.documentation) i.documentation = markdown(r.documentation);
        return i;
      }),
    }, '$', '@', '.', '<'),
    l.registerDefinitionProvider(SELECTOR, {provideDefinition: (d, p, t) =>
      ask('textDocument/definition', at(d, p), t, list(place))}),
    l.registerReferenceProvider(SELECTOR, {provideReferences: (d, p, context, t) =>
      ask('textDocument/references', {...at(d, p), context}, t, list(place))}),
    l.registerDocumentSymbolProvider(SELECTOR, {provideDocumentSymbols: (d, t) =>
      ask('textDocument/documentSymbol', {textDocument: named(d)}, t, list(symbol))}),
    l.registerRenameProvider(SELECTOR, {
      prepareRename: async (d, p, t) => {
        const name = await ask('textDocument/prepareRename', at(d, p), t,
          r => ({range: range(r.range), placeholder: r.placeholder}));
        if (!name) throw new Error('this cannot be renamed');
        return name;
      },
      provideRenameEdits: (d, p, newName, t) =>
        ask('textDocument/rename', {...at(d, p), newName}, t, workspaceEdit),
    }),
    l.registerCodeActionsProvider(SELECTOR, {provideCodeActions: (d, r, context, t) =>
      ask('textDocument/codeAction', {textDocument: named(d), range: {start: r.start, end: r.end}, context: {diagnostics: []}},
        t, list(a => {
          const action = new vscode.CodeAction(a.title, vscode.CodeActionKind.QuickFix);
          action.edit = workspaceEdit(a.edit);
          action.diagnostics = a.diagnostics.map(diagnostic);
          return action;
        }))}, {providedCodeActionKinds: [vscode.CodeActionKind.QuickFix]}),
    l.registerCodeLensProvider(SELECTOR, {provideCodeLenses: (d, t) =>
      ask('textDocument/codeLens', {textDocument: named(d)}, t,
        list(c => new vscode.CodeLens(range(c.range), c.command)))}),
    l.registerDocumentSemanticTokensProvider(SELECTOR, {provideDocumentSemanticTokens: (d, t) =>
      ask('textDocument/semanticTokens/full', {textDocument: named(d)}, t,
        s => new vscode.SemanticTokens(new Uint32Array(s.data)))},
      new vscode.SemanticTokensLegend(legend.tokenTypes, legend.tokenModifiers)),
  ];
}

async function activate(context) {
  findings = vscode.languages.createDiagnosticCollection('qrewrite');
  const capabilities = await start();
  if (!capabilities) return;
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.{yaml,yml,json}');
  const touched = type => uri =>
    connection.tell('workspace/didChangeWatchedFiles', {changes: [{uri: uri.toString(), type}]});
  context.subscriptions.push(
    findings, watcher, watcher.onDidCreate(touched(1)), watcher.onDidChange(touched(2)), watcher.onDidDelete(touched(3)),
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(changed),
    vscode.workspace.onDidCloseTextDocument(d => {
      if (own(d)) connection.tell('textDocument/didClose', {textDocument: named(d)});
    }),
    vscode.commands.registerCommand('qrewrite.runTests', (...words) => connection.ask(
      'workspace/executeCommand', {command: 'qrewrite.runTests', arguments: words})),
    vscode.commands.registerCommand('qrewrite.restart', async () => {
      await connection.stop();
      findings.clear();
      restarts = 0;
      await start();
    }),
    ...provide(capabilities.semanticTokensProvider.legend));
}

async function deactivate() {
  if (connection) await connection.stop();
}

module.exports = {activate, deactivate};
