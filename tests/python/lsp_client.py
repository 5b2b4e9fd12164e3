"""A client of `qrewrite lsp` for tests: requests and answers, diagnostics by file."""
import json
import os
import queue
import subprocess
import threading

PROGRAM = os.environ["QREWRITE"]


def framed(body):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


def position(text, needle, nth=0, behind=0):
    """Of the nth `needle` in the text, `behind` characters into it, in UTF-16 units."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    at += behind
    line = text.count("\n", 0, at)
    return {"line": line, "character": len(text[text.rfind("\n", 0, at) + 1:at].encode("utf-16-le")) // 2}


class Server:
    def __init__(self, initialize=True, **options):
        self.process = subprocess.Popen([PROGRAM, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.messages = queue.Queue()
        self.ids = 0
        self.notices = []
        threading.Thread(target=self._read, daemon=True).start()
        if initialize:
            self.capabilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {},
                                                        **options})["capabilities"]
            self.tell("initialized", {})

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while (line := out.readline()).strip():
                name, value = line.split(b":")
                if name == b"Content-Length":
                    length = int(value)
            if not line:
                break
            self.messages.put(json.loads(out.read(length)))
        self.messages.put(None)

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def tell(self, method, params=None):
        self.send(framed({"jsonrpc": "2.0", "method": method, "params": params}))

    def start(self, method, params=None):
        self.ids += 1
        self.send(framed({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}))
        return self.ids

    def next(self, timeout=60):
        message = self.messages.get(timeout=timeout)
        assert message is not None, "the server ended"
        return message

    def answer(self, number):
        """The whole response to a request; what comes before it is kept."""
        while True:
            message = self.next()
            if "id" in message and "method" not in message:
                assert message["id"] == number, message
                return message
            self.notices.append(message)

    def ask(self, method, params=None):
        message = self.answer(self.start(method, params))
        assert "error" not in message, message
        return message["result"]

    def fault(self, method, params=None):
        return self.answer(self.start(method, params))["error"]

    def notice(self, method, timeout=60):
        while True:
            for i, message in enumerate(self.notices):
                if message["method"] == method:
                    return self.notices.pop(i)["params"]
            self.notices.append(self.next(timeout))

    def diagnostics(self, uri):
        while True:
            params = self.notice("textDocument/publishDiagnostics")
            if params["uri"] == uri:
                return params["diagnostics"]

    def open(self, uri, text):
        self.tell("textDocument/didOpen",
                  {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})

    def at(self, method, uri, where, **more):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": uri}, "position": where, **more})

    def end(self):
        """Ends the server as the protocol says; its exit code."""
        self.ask("shutdown")
        self.tell("exit")
        return self.process.wait(timeout=20)
