#!/usr/bin/perl
# A CGI script.
use strict;
use Compress::Zlib ();

$| = 1;
binmode STDOUT;
my $PAGE = "<p>A line of the application.</p>\n" x 900;
my ($name) = $ENV{PATH_INFO} =~ m{([^/]*)$};
my %status = (none => "204 No Content", reset => "205 Reset Content", kept => "304 Not Modified",
              gone => "404 Not Found");
my %length = (length => length($PAGE), long => length($PAGE) + 100, short => length($PAGE) - 100);
my $body = $PAGE;

print "Content-Type: ", $name eq "events" ? "text/event-stream" : "text/html", "\r\n";
print "X-Application: yes\r\n";
print "Status: $status{$name}\r\n" if $status{$name};
print "Content-Length: $length{$name}\r\n" if $length{$name};
if ($name =~ /^(none|reset|kept)$/) {
    print qq(ETag: "kept"\r\nCache-Control: max-age=9\r\n);
    $body = "";
} elsif ($name eq "coded") {
    $body = Compress::Zlib::memGzip($PAGE);
    print "Content-Encoding: gzip\r\nContent-Length: ", length($body), "\r\n";
}
print "\r\n";
exit if $ENV{REQUEST_METHOD} eq "HEAD";
if ($name eq "events") {
    for my $number (0 .. 2) {
        print "data: event $number\n\n";
        select(undef, undef, undef, 0.4);
    }
} elsif ($name eq "pieces") {
    print substr($PAGE, $_ * 3400, 3400) for 0 .. 8;
} else {
    print $body;
}
kill 9, $$ if $name eq "stops";
