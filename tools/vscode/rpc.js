// The server as a process: requests and notifications as JSON behind headers (the base protocol of the
// Language Server Protocol). Knows nothing of the editor.
'use strict';
const {spawn} = require('child_process');

class Connection {
  // `told(method, params)` is called for each notification, `ended(error or exit code)` once.
  constructor(command, told, ended) {
    this.told = told;
    this.number = 0;
    this.waiting = new Map();
    this.buffer = Buffer.alloc(0);
    this.process = spawn(command, ['lsp', '--stdio'], {stdio: ['pipe', 'pipe', 'ignore']});
    const end = why => {
      for (const {reject} of this.waiting.values()) reject(new Error('the server ended'));
      this.waiting.clear();
      if (this.process) {
        this.process = null;
        ended(why);
      }
    };
    this.process.on('error', end);
    this.process.on('exit', end);
    this.process.stdin.on('error', () => {});
    this.process.stdout.on('data', data => this.take(data));
  }

  send(message) {
    if (!this.process) return;
    const body = Buffer.from(JSON.stringify({jsonrpc: '2.0', ...message}));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  tell(method, params) {
    this.send({method, params});
  }

  // `token`: a cancellation of the editor, or nothing.
  ask(method, params, token) {
    if (!this.process) return Promise.reject(new Error('the server ended'));
    const id = ++this.number;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
    this.send({id, method, params});
    if (token) token.onCancellationRequested(() => this.tell('$/cancelRequest', {id}));
    return answer;
  }

  take(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf('\r\n\r\n');
      if (head < 0) return;
      const length = Number(/Content-Length: *(\d+)/i.exec(this.buffer.toString('latin1', 0, head))[1]);
      if (this.buffer.length < head + 4 + length) return;
      const body = this.buffer.toString('utf8', head + 4, head + 4 + length);
      this.buffer = this.buffer.subarray(head + 4 + length);
      this.follow(JSON.parse(body));
    }
  }

  follow(message) {
    if (message.method !== undefined) {
      if (message.id === undefined) this.told(message.method, message.params);
      return;
    }
    const one = this.waiting.get(message.id);
    if (!one) return;
    this.waiting.delete(message.id);
    if (message.error) one.reject(new Error(message.error.message));
    else one.resolve(message.result);
  }

  async stop() {
    if (!this.process) return;
    const process = this.process;
    await this.ask('shutdown').catch(() => {});
    this.process = null;  // an end that is wanted
    process.stdin.end('Content-Length: 33\r\n\r\n{"jsonrpc":"2.0","method":"exit"}');
  }
}

module.exports = {Connection};
