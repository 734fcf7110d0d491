const http = require("http"), zlib = require("zlib");
const page = Buffer.from("<p>A line of the application.</p>\n".repeat(900));
http.createServer((request, response) => {
    const name = request.url.split("/").pop();
    response.setHeader("Content-Type", "text/html");
    response.setHeader("X-Application", "yes");
    if (name == "page" || name == "length") {
        response.setHeader("Content-Length", page.length);
    } else if (name == "long" || name == "short") {
        // Not what node would let through.
        const length = page.length + (name == "long" ? 100 : -100);
        request.socket.end("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: " +
            `${length}\r\nConnection: close\r\n\r\n${page}`);
        return;
    } else if (name == "gone") {
        response.statusCode = 404;
    } else if (name == "none" || name == "reset" || name == "kept") {
        response.statusCode = {none: 204, reset: 205, kept: 304}[name];
        response.setHeader("ETag", '"kept"');
        response.setHeader("Cache-Control", "max-age=9");
        return response.end();
    } else if (name == "coded") {
        response.setHeader("Content-Encoding", "gzip");
        return response.end(zlib.gzipSync(page));
    } else if (name == "trailers") {
        response.setHeader("Trailer", "X-Trailer");
        response.write(page);
        response.addTrailers({"X-Trailer": "yes"});
        return response.end();
    } else if (name == "hints") {
        response.writeEarlyHints({link: "</style.css>; rel=preload; as=style"});
    } else if (name == "events") {
        response.setHeader("Content-Type", "text/event-stream");
        let number = 0;
        const timer = setInterval(() => {
            if (number == 3) {
                clearInterval(timer);
                return response.end();
            }
            response.write(`data: event ${number++}\n\n`);
        }, 400);
        return;
    } else if (name == "stops") {
        response.write(page, () => setTimeout(() => response.destroy(), 50));
        return;
    }
    response.end(page);
}).listen(+process.argv[2], "127.0.0.1");
