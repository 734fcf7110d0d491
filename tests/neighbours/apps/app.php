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
} elseif ($name == "none") {
    http_response_code(204);
    exit;
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
