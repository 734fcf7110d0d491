package Here::App;
use strict;
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
    } elsif ($name eq "none") {
        $r->status(204);
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
