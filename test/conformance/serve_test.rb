# frozen_string_literal: true

require_relative "case"

class ServeTest < Conformance::Case
  # Asserts that the client gets an error with the class and the message of the server's error.
  def assert_remote(name, message, &block)
    error = assert_named(Godwit::RemoteError, /\Arequest .*replied with an error: /,
      operation: :request, &block)
    assert_operator name, :===, error.remote_class
    text = error.remote_message
    text = "#{error.remote_class}\n#{text}" unless message.is_a?(String)
    assert_operator message, :===, text
  end

  test "an on_error that raises does not end it either" do
    rep, req = connected_pair(:REP, :REQ)
    failed = ->(error, _) { error.is_a?(KeyError) ? raise("worse") : error.class.name }
    in_thread { rep.serve(on_error: failed) { |message| raise KeyError if message == "bad" } }
    _, warning = capture_io do
      assert_remote("RuntimeError", /worse/) { req.request("bad", timeout: 5) }
    end
    assert_match(/the reply to an error failed: .*worse/m, warning)
    assert_equal "Godwit::MessageTypeError", req.request("nil is no reply", timeout: 5)
  end

  test "a reply that is no message counts as an error of the block" do
    rep, req = connected_pair(:REP, :REQ)
    wrong = {
      nil => /MessageTypeError\nserve: the block returned nil: it returns the reply/,
      5 => /MessageTypeError\nserve: the block returned Integer/, {a: 1} => /returned Hash/,
      ["a", nil] => /MessageTypeError\nsend: .*nil at 1/, [] => /MessageError\nsend: /,
      "\xC1godwit/error\nx" => /MessageError\nserve: the reply begins with the bytes of an error/,
      ["\xC1godwit/error\n".b] => /MessageError\nserve: the reply begins/
    }
    replies = [*wrong.keys, "\xC1godwit/errors", ["\xC1godwit/error\nx", "y"]]
    in_thread { rep.serve { replies.shift } }
    _, warning = capture_io do
      wrong.each_value { |says| assert_remote(/Godwit/, says) { req.request("x", timeout: 5) } }
    end
    assert_match(/MessageTypeError.*returned Integer/m, warning)
    assert_equal "\xC1godwit/errors".b, req.request("x", timeout: 5)
    assert_equal ["\xC1godwit/error\nx".b, "y"], req.request("x", timeout: 5)
  end

  each_transport("a ROUTER serves several, with the routing id in front, and nil is no " \
    "reply") do |transport|
    router = open_socket(:ROUTER).bind(endpoint_for(transport))
    in_thread { router.serve { |id, *rest| (rest == ["ignore"]) ? nil : [id, *rest, "served"] } }
    dealers = Array.new(3) { open_socket(:DEALER).connect(router.last_endpoint) }
    _, warnings = capture_io do
      dealers.each_with_index { |dealer, i| dealer << "ignore" << i.to_s }
      dealers.each_with_index do |dealer, i|
        assert_equal [i.to_s, "served"], dealer.recv(timeout: 5)
      end
    end
    assert_empty warnings
    dealers.each { |dealer| refute_predicate dealer, :readable? }
  end

  test "a ROUTER whose block raises replies to a REQ; to a DEALER with on_error's result" do
    router = open_socket(:ROUTER).bind(endpoint_for(:tcp))
    in_thread do
      router.serve do |message|
        id, *rest, body = message
        message.clear # the block may change the message
        case body
        when "bad" then raise "no good"
        when "chosen" then KeyError.new("chosen")
        when "remote" then raise Godwit::RemoteError, "far"
        else [id, *rest, "fine"]
        end
      end
    end
    dealer, req = %i[DEALER REQ].map { |type| open_socket(type).connect(router.last_endpoint) }
    _, warning = capture_io do
      assert_remote("RuntimeError", "no good") { req.request("bad", timeout: 5) }
      dealer << "bad" << "chosen" << "remote" << ["", "bad"] << "good"
      replies = Array.new(4) { dealer.recv(timeout: 5) }
      assert_equal ["KeyError: chosen", "Godwit::RemoteError: far"],
        replies.first(2).map { |reply| Godwit::ErrorReply.load(reply).message }
      assert_equal ["", "RuntimeError: no good"],
        [replies[2][0], Godwit::ErrorReply.load(replies[2][1]).message]
      assert_equal "fine", replies.last
    end
    assert_equal 3, warning.scan("serve raised").size

    router, dealer = connected_pair(:ROUTER, :DEALER)
    in_thread do
      router.serve(on_error: ->(error, (id, _)) { [id, error.message] }) { raise "no good" }
    end
    dealer << "x"
    assert_equal "no good", dealer.recv(timeout: 5)
  end

  test "throw, break, and exceptions that are no StandardError pass through serve at once" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    req << "x"
    assert_equal :left, rep.serve { break :left }
    assert_flows(rep, req, "reply by hand")
    req << "y"
    assert_raises(NotImplementedError) { rep.serve { raise NotImplementedError } }
  end
end
