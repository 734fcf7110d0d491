<%@page session="false" import="java.util.Map, java.util.zip.GZIPOutputStream"%><%
byte[] data = "<p>A line of the application.</p>\n".repeat(900).getBytes();
String name = request.getRequestURI().replaceFirst(".*/", "");
java.io.OutputStream body = response.getOutputStream();
response.setContentType("text/html");
response.setHeader("X-Application", "yes");
switch (name) {
case "none": case "reset": case "kept":
    response.setStatus(name.equals("none") ? 204 : name.equals("reset") ? 205 : 304);
    response.setHeader("ETag", "\"kept\"");
    response.setHeader("Cache-Control", "max-age=9");
    return;
case "length":
    response.setContentLength(data.length);
    break;
case "long":
    response.setContentLength(data.length + 100);
    break;
case "short":
    response.setContentLength(data.length - 100);
    break;
case "gone":
    response.setStatus(404);
    break;
case "trailers":
    response.setHeader("Trailer", "X-Trailer");
    response.setTrailerFields(() -> Map.of("X-Trailer", "yes"));
    break;
case "coded":
    response.setHeader("Content-Encoding", "gzip");
    GZIPOutputStream packer = new GZIPOutputStream(body);
    packer.write(data);
    packer.finish();
    return;
case "pieces":
    for (int at = 0; at < data.length; at += 3400) {
        body.write(data, at, 3400);
        body.flush();
    }
    return;
case "events":
    response.setContentType("text/event-stream");
    for (int number = 0; number < 3; number++) {
        body.write(("data: event " + number + "\n\n").getBytes());
        body.flush();
        Thread.sleep(400);
    }
    return;
}
body.write(data);
if (name.equals("stops")) {
    body.flush();
    throw new IllegalStateException("on purpose");
}
if (true) return;
%>
