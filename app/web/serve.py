"""Serves the page to this machine: serve.py FOLDER [PORT]. Compressed files go out where the browser takes them."""
import functools
import http.server
import pathlib
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".wasm": "application/wasm",
        ".js": "text/javascript",
    }

    def send_head(self):
        taken = [name.split(";")[0].strip() for name in self.headers.get("Accept-Encoding", "").split(",")]
        for encoding, ending in (("br", ".br"), ("gzip", ".gz")):
            file = pathlib.Path(self.translate_path(self.path) + ending)
            if encoding in taken and file.is_file():
                return self.send_compressed(file, encoding)
        return super().send_head()

    def send_compressed(self, file, encoding):
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(self.translate_path(self.path)))
        self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(file.stat().st_size))
        self.end_headers()
        return file.open("rb")

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
        self.send_header("Cross-Origin-Resource-Policy", "cross-origin")  # isolated pages of others may show it in a frame
        super().end_headers()

    def log_message(self, *message):
        pass


folder, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8000
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))
print(f"http://127.0.0.1:{port}/ shows {folder}; Ctrl + C ends.", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
