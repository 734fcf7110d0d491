require "zlib"

PAGE = "<p>A line of the application.</p>\n" * 900
STATUS = { "none" => 204, "reset" => 205, "kept" => 304, "gone" => 404 }.freeze
LENGTH = { "length" => 0, "long" => 100, "short" => -100 }.freeze

class Events
  def each
    3.times do |number|
      yield "data: event #{number}\n\n"
      sleep 0.4
    end
  end
end

class Stops
  def each
    yield PAGE
    raise "on purpose"
  end
end

run(lambda do |env|
  name = env["PATH_INFO"].split("/").last
  fields = { "Content-Type" => "text/html", "X-Application" => "yes" }
  body = [PAGE]
  fields["Content-Length"] = (PAGE.bytesize + LENGTH[name]).to_s if LENGTH[name]
  case name
  when "none", "reset", "kept"
    fields.update("ETag" => '"kept"', "Cache-Control" => "max-age=9")
    body = []
  when "coded"
    fields["Content-Encoding"] = "gzip"
    body = [Zlib.gzip(PAGE)]
  when "pieces"
    body = PAGE.scan(/.{1,3400}/m)
  when "events"
    fields["Content-Type"] = "text/event-stream"
    body = Events.new
  when "stops"
    body = Stops.new
  when "hints"
    env["rack.early_hints"].call("Link" => "</style.css>; rel=preload; as=style")
  end
  [STATUS.fetch(name, 200), fields, body]
end)
