# frozen_string_literal: true

require_relative "case"

class ErrorReplyTest < Conformance::Case
  Reply = Godwit::ErrorReply
  PAGE = File.read(File.expand_path("../../docs/error-replies.md", __dir__))

  # docs/error-replies.md has them for other libraries.
  test "the page's vectors" do
    vectors = PAGE.scan(/^\| `([0-9a-f ]+)` \| `(.*)` \| `(.*)` \|$/)
    assert_operator vectors.size, :>=, 4
    vectors.each do |hex, name, message|
      bytes = [hex.delete(" ")].pack("H*")
      message = message.gsub('\n', "\n")
      error = Godwit::RemoteError.new(remote_class: name, remote_message: message)
      assert_equal bytes, Reply.dump(error)
      error = Reply.load(bytes)
      assert_equal [name, message], [error.remote_class, error.remote_message]
    end
  end

  test "what a server cannot send as it is" do
    anonymous = Class.new(Class.new(ArgumentError)).new("x")
    {
      anonymous => %w[ArgumentError x],
      RuntimeError.new("\xff\xfe") => ["RuntimeError", "\uFFFD" * 2],
      RuntimeError.new("gr\xC3\xBCn".b) => %w[RuntimeError grün],
      RuntimeError.new("€" * 4096) => ["RuntimeError", "#{"€" * 1365}?..."],
      Class.new(StandardError) { def message = nil }.new => ["StandardError", ""]
    }.each do |error, expected|
      read = Reply.load(Reply.dump(error))
      assert_equal expected, [read.remote_class, read.remote_message]
    end
  end

  test "the source code that Ruby 3.1 adds to a message is not sent" do
    error = assert_raises(NoMethodError) {
      secret_of_the_server = nil
      secret_of_the_server.foo
    }
    refute_includes Reply.dump(error), "secret_of_the_server"
  end

  test "a message for people has no characters that control a terminal" do
    error = Reply.load("#{Reply::MARK}A\e[2J\nb\nc\e]")
    assert_equal ['A\e[2J: b\nc\e]', "A\e[2J", "b\nc\e]"],
      [error.message, error.remote_class, error.remote_message]
  end

  test "what is no error, and what is a short one" do
    ["", "\xC1", "\xC1godwit/error", "x\xC1godwit/error\n", "{}"].each do |bytes|
      assert_nil Reply.load(bytes)
    end
    {"" => ["", ""], "A" => ["A", ""], "A\n" => ["A", ""], "\nb" => ["", "b"]}.each do |rest, both|
      error = Reply.load(Reply::MARK + rest)
      assert_equal both, [error.remote_class, error.remote_message]
    end
  end

  # The client that asks through a server of its own gets the error of the last server.
  test "a chosen error is sent without a warning, through several servers" do
    last = open_socket(:REP).bind(endpoint_for(:inproc))
    middle = open_socket(:REP).bind(endpoint_for(:inproc))
    ask = open_socket(:REQ).connect(last.last_endpoint)
    req = open_socket(:REQ).connect(middle.last_endpoint)
    own = Class.new(Godwit::RemoteError) { def self.name = "Shop::NotFound" }
    in_thread do
      last.serve { |text| (text == "raise") ? raise(own, "order 5") : own.new("order 5") }
    end
    in_thread { middle.serve { |text| ask.request(text, timeout: 5) } }
    _, warnings = capture_io do
      %w[raise return].each do |how|
        error = assert_raises(Godwit::RemoteError) { req.request(how, timeout: 5, retries: 1) }
        assert_equal ["Shop::NotFound", "order 5"], [error.remote_class, error.remote_message]
        assert_equal [middle.last_endpoint, false], [error.endpoint, error.retriable?]
      end
    end
    assert_empty warnings
  end

  test "an error is one frame: a client that receives by hand can send again" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    in_thread { rep.serve { IOError.new("no disk") } }
    2.times do
      assert_equal "#{Reply::MARK}IOError\nno disk".b, req.send("x").recv(timeout: 5)
    end
    assert_raises(Godwit::RemoteError) { req.request("x", timeout: 5, exception: false) }
  end
end
