<?php
$page = str_repeat("<p>A line of the application.</p>\n", 900);
$name = substr(strrchr($_SERVER["REQUEST_URI"], "/"), 1);
header("Content-Type: text/html");
header("X-Application: yes");
if ($name == "length") {
    header("Content-Length: " . strlen($page));
} elseif ($name == "long") {  // a length that is larger than the body
    header("Content-Length: " . (strlen($page) + 100));
} elseif ($name == "gone") {
    http_response_code(404);
} elseif (in_array($name, ["none", "reset", "kept"])) {
    http_response_code(["none" => 204, "reset" => 205, "kept" => 304][$name]);
    header('ETag: "kept"');
    header("Cache-Control: max-age=9");
    exit;
} elseif ($name == "short") {  // or smaller
    header("Content-Length: " . (strlen($page) - 100));
} elseif ($name == "coded") {
    $page = gzencode($page);
    header("Content-Encoding: gzip");
    header("Content-Length: " . strlen($page));
} elseif ($name == "events") {
    header("Content-Type: text/event-stream");
    foreach ([0, 1, 2] as $number) {
        echo "data: event $number\n\n";
        flush();
        usleep(400000);
    }
    exit;
} elseif ($name == "stops") {
    echo $page;
    flush();
    posix_kill(getmypid(), 9);
} elseif ($name == "echo") {
    $page = file_get_contents("php://input");
} elseif ($name == "pieces") {
    foreach (str_split($page, 3400) as $piece) {
        echo $piece;
        flush();
    }
    exit;
}
echo $page;
