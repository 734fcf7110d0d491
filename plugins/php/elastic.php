<?php
/*
 * Compression of PHP pages with the effort that elasticd publishes:
 *
 *     require 'elastic.php';
 *     elastic_start();
 *
 * before the first output. See docs/manual/elasticd.md of mod_elastic.
 */

declare(strict_types=1);

const ELASTIC_PATH = '/run/elastic/elastic.position';
const ELASTIC_SIZE = 64;
const ELASTIC_VERSION = 1;
const ELASTIC_STALE_INTERVALS = 10;
/* Nanoseconds that a position is used for without looking at the file again. */
const ELASTIC_CACHE = 100000000;
/* 2^32 divided by the golden ratio: its multiples are spread evenly. */
const ELASTIC_GOLDEN = 2654435769;
/* zlib's levels. */
const ELASTIC_LEAST = 1;
const ELASTIC_MOST = 9;
const ELASTIC_DEFAULT = 6;
/* Smaller bodies fit into one packet as they are. */
const ELASTIC_MIN_SIZE = 1300;

/* [share of the way from floor to ceiling, bypass], or null where $data cannot be gone by. */
function elastic_decode(string $data, int $now): ?array
{
    if (strlen($data) !== ELASTIC_SIZE) {
        return null;
    }
    $p = unpack('a8magic/Vversion/Vinterval/Pupdated/vfraction/vwhole/vtop/vbypass/Vload/Vended'
                . '/Psamples/Vpid/x8/Vchecksum', $data);
    if ($p['magic'] !== "elastic\0" || $p['version'] !== ELASTIC_VERSION
        || $p['checksum'] !== crc32(substr($data, 0, -4)) || ($p['ended'] & 1)) {
        return null;
    }
    $age = intdiv($now, 1000) - $p['updated'];
    $interval = $p['interval'] * 1000;
    $position = $p['whole'] + $p['fraction'] / 65536;
    if ($age < -$interval || $age > ELASTIC_STALE_INTERVALS * $interval || $position > $p['top']) {
        return null;
    }
    return [$p['top'] > 0 ? $position / $p['top'] : 1.0, (bool)($p['bypass'] & 1)];
}

/* The position now. APCu keeps it between requests; without, each request reads 64 bytes. */
function elastic_look(string $path): ?array
{
    static $kept = [];
    $apcu = function_exists('apcu_enabled') && apcu_enabled();
    $now = hrtime(true);
    $cached = $apcu ? apcu_fetch("elastic:$path") : ($kept[$path] ?? false);
    if ($cached && $now - $cached[0] < ELASTIC_CACHE) {
        return $cached[1];
    }
    $data = is_file($path) ? @file_get_contents($path, false, null, 0, ELASTIC_SIZE) : false;
    $position = $data === false ? null : elastic_decode($data, $now);
    $cached = [$now, $position];
    if ($apcu) {
        apcu_store("elastic:$path", $cached);
    } else {
        $kept[$path] = $cached;
    }
    return $position;
}

/* How many requests this process has served: PHP forgets, the process manager does not. */
function elastic_count(): int
{
    static $count = null;
    if ($count === null) {
        $count = getmypid();
        $status = function_exists('fpm_get_status') ? fpm_get_status() : false;
        foreach ($status ? $status['procs'] : [] as $process) {
            if ($process['pid'] === getmypid()) {
                $count += $process['requests'];
            }
        }
    }
    return $count++;
}

/* The level of this request, mixed from the two that the position is between; null for none. */
function elastic_level(string $path, int $floor, int $ceiling): ?int
{
    $position = elastic_look($path);
    if ($position === null) {
        return min(max(ELASTIC_DEFAULT, $floor), $ceiling);
    }
    [$share, $bypass] = $position;
    if ($bypass) {
        return null;
    }
    $parts = (int)round($share * ($ceiling - $floor) * 65536);
    $upper = (elastic_count() * ELASTIC_GOLDEN & 0xffffffff) >> 16 < ($parts & 0xffff);
    return $floor + ($parts >> 16) + ($upper ? 1 : 0);
}

/* RFC 9110 §12.5.3: gzip by name, or by `*` where it is not named. */
function elastic_accepts_gzip(string $accept): bool
{
    $weights = [];
    foreach (explode(',', strtolower($accept)) as $item) {
        $parts = array_map('trim', explode(';', $item));
        $weight = 1.0;
        foreach (array_slice($parts, 1) as $parameter) {
            if (preg_match('/^q\s*=\s*(.*)$/', $parameter, $found)) {
                $weight = is_numeric($found[1]) ? (float)$found[1] : 0.0;
            }
        }
        $weights[$parts[0] === 'x-gzip' ? 'gzip' : $parts[0]] = $weight;
    }
    return ($weights['gzip'] ?? $weights['*'] ?? 0.0) > 0;
}

/* Whether what header() has set so far lets the body be compressed. */
function elastic_is_candidate(): bool
{
    $type = ini_get('default_mimetype');
    foreach (headers_list() as $line) {
        [$name, $value] = array_map('trim', explode(':', strtolower($line), 2));
        if ($name === 'content-encoding' || $name === 'content-range'
            || ($name === 'cache-control' && str_contains($value, 'no-transform'))) {
            return false;
        }
        if ($name === 'content-type') {
            $type = $value;
        }
    }
    $types = '#^(text/|application/(javascript|json|xml|wasm)|image/svg|[^;]*\+(json|xml))#';
    return !in_array(http_response_code(), [204, 206, 304], true)
        && preg_match($types, $type) === 1;
}

/* The header fields of a compressed body. */
function elastic_set_headers(): void
{
    header('Content-Encoding: gzip');
    header_remove('Content-Length');
    foreach (headers_list() as $line) {
        if (preg_match('#^etag:\s*(W/)?"(.*)"$#i', $line, $found)) {
            /* Levels vary, and so may the bytes: the tag is weak. */
            header('ETag: W/"' . $found[2] . '-gzip"');
        }
    }
}

/* Compresses everything that is put out from here on, by levels from $floor to $ceiling. */
function elastic_start(string $path = ELASTIC_PATH, int $floor = ELASTIC_LEAST,
                       int $ceiling = ELASTIC_MOST): void
{
    if ($floor < ELASTIC_LEAST || $ceiling > ELASTIC_MOST || $floor > $ceiling) {
        throw new ValueError("elastic_start(): levels $floor to $ceiling; gzip has "
                             . ELASTIC_LEAST . ' to ' . ELASTIC_MOST);
    }
    $stream = null;
    $begun = false;

    ob_start(function (string $body, int $phase) use (&$stream, &$begun, $path, $floor,
                                                   $ceiling): string {
        $final = ($phase & PHP_OUTPUT_HANDLER_FINAL) !== 0;
        /* What ob_clean() throws away has not been sent, and begins nothing. */
        if ($phase & PHP_OUTPUT_HANDLER_CLEAN) {
            return $body;
        }
        $whole = $final && !$begun;
        if (!$begun && !headers_sent() && elastic_is_candidate()) {
            header('Vary: Accept-Encoding', false);
            $small = $whole && strlen($body) < ELASTIC_MIN_SIZE;
            $level = $small || ($_SERVER['REQUEST_METHOD'] ?? '') === 'HEAD'
                     || !elastic_accepts_gzip($_SERVER['HTTP_ACCEPT_ENCODING'] ?? '')
                     ? null : elastic_level($path, $floor, $ceiling);
            if ($level !== null) {
                $stream = deflate_init(ZLIB_ENCODING_GZIP, ['level' => $level]);
                elastic_set_headers();
            }
        }
        $begun = true;
        if (!$stream) {
            return $body;
        }
        $coded = deflate_add($stream, $body, $final ? ZLIB_FINISH : ZLIB_SYNC_FLUSH);
        if ($whole) {
            header('Content-Length: ' . strlen($coded));
        }
        return $coded;
    });
}
