package Here::App;
use strict;
use Compress::Zlib ();
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use APR::Table ();
use Apache2::Const -compile => qw(OK);

my $PAGE = "<p>A line of the application.</p>\n" x 900;

sub handler {
    my $r = shift;
    my ($name) = $r->uri =~ m{([^/]*)$};
    my $body = $PAGE;
    $r->content_type("text/html");
    $r->headers_out->set("X-Application", "yes");
    if ($name eq "length") {
        $r->headers_out->set("Content-Length", length($PAGE));
    } elsif ($name eq "long") {  # a length that is larger than the body
        $r->headers_out->set("Content-Length", length($PAGE) + 100);
    } elsif ($name eq "gone") {
        $r->status(404);
    } elsif ($name =~ /^(none|reset|kept)$/) {
        $r->status({none => 204, reset => 205, kept => 304}->{$name});
        $r->headers_out->set("ETag", '"kept"');
        $r->headers_out->set("Cache-Control", "max-age=9");
        return Apache2::Const::OK;
    } elsif ($name eq "short") {  # or smaller
        $r->headers_out->set("Content-Length", length($PAGE) - 100);
    } elsif ($name eq "coded") {
        $body = Compress::Zlib::memGzip($PAGE);
        $r->headers_out->set("Content-Encoding", "gzip");
        $r->headers_out->set("Content-Length", length($body));
    } elsif ($name eq "events") {
        $r->content_type("text/event-stream");
        for my $number (0 .. 2) {
            $r->print("data: event $number\n\n");
            $r->rflush;
            select(undef, undef, undef, 0.4);
        }
        return Apache2::Const::OK;
    } elsif ($name eq "echo") {
        $body = "";
        while ($r->read(my $data, 65536)) {
            $body .= $data;
        }
    } elsif ($name eq "pieces") {
        for my $at (0 .. 8) {
            $r->print(substr($PAGE, $at * 3400, 3400));
            $r->rflush;
        }
        return Apache2::Const::OK;
    }
    $r->print($body);
    return Apache2::Const::OK;
}
1;
