# frozen_string_literal: true

require_relative "case"
require_relative "authenticated"

# Which rule decides, and which arguments rule methods refuse. The tests send ZAP requests (RFC 27).
class AuthRulesTest < Conformance::Case
  include Conformance::Authenticated

  OK = [200, ""].freeze
  NO = [400, ""].freeze
  LATER = [300, ""].freeze

  def keypair = Godwit::Curve.keypair

  def test_null_needs_no_rule_and_the_other_mechanisms_are_refused_after_the_grace
    pair = keypair
    with_clock do |clock|
      auth
      assert_equal OK, zap
      assert_equal LATER, zap_plain("anna", "secret"), "there is no rule at all yet"
      auth.plain(users: {"anna" => "secret"})
      clock.advance(4.9)
      assert_equal LATER, zap_curve(pair), "the program may be adding rules still"
      clock.advance(0.2)
      assert_equal NO, zap_curve(pair)
      auth.curve(keys: :any)
      assert_equal [[200, "anna"], [200, pair.public_key]],
        [zap_plain("anna", "secret"), zap_curve(pair)]
      auth.reset
      assert_equal NO, zap_plain("anna", "secret")
    end
  end

  def test_plain_users
    auth.plain(users: {"anna" => "secret", "Jürgen" => "päss", "u" * 255 => "p" * 255})
    assert_equal [200, "anna"], zap_plain("anna", "secret")
    assert_equal [200, "Jürgen"], zap_plain("Jürgen", "päss")
    assert_equal [200, "u" * 255], zap_plain("u" * 255, "p" * 255)
    [%w[anna secre], %w[anna secret1], %w[otto secret], ["anna", ""], ["", ""], ["", "secret"],
      ["anna", "secret\0"], ["anna\0", "secret"], ["Anna", "secret"], ["\xff", "secret"],
      ["u" * 255, "p" * 254]].each { |name, password| assert_equal NO, zap_plain(name, password) }
  end

  def test_a_file_of_passwords_as_czmq_has_it
    file = File.join(scratch_dir, "passwords")
    File.write(file, "# comment\nanna=secret\n\nno pair\n=nothing\notto=a=b\n", perm: 0o600)
    auth.plain(file: file)
    assert_equal [200, "anna"], zap_plain("anna", "secret")
    assert_equal [200, "otto"], zap_plain("otto", "a=b")
    assert_equal NO, zap_plain("no pair", "")
    File.write(file, "\uFEFFanna=other\r\n") # starts with a byte order mark
    assert_equal NO, zap_plain("anna", "secret")
    assert_equal [200, "anna"], zap_plain("anna", "other")
    said = warnings do
      File.chmod(0o644, file)
      assert_equal [300, ""], zap_plain("anna", "other")
      eventually("the warning, which follows the reply") { $stderr.string.include?("chmod") }
    end
    assert_match(/chmod 600/, said)
    File.chmod(0o600, file)
    assert_equal [200, "anna"], zap_plain("anna", "other")
  end

  def test_sources_of_plain_are_asked_in_order
    file = File.join(scratch_dir, "passwords")
    File.write(file, "otto=two\n", perm: 0o600)
    asked = Thread::Queue.new
    auth.plain(users: {"anna" => "one"}, file: file) do |name, password, request|
      asked << [name, password, request.mechanism]
      "the block's" if password == "three"
    end
    assert_equal [200, "anna"], zap_plain("anna", "one")
    assert_equal [200, "otto"], zap_plain("otto", "two")
    assert_empty asked
    assert_equal [200, "the block's"], zap_plain("anna", "three")
    assert_equal NO, zap_plain("otto", "four")
    assert_equal [%w[anna three PLAIN], %w[otto four PLAIN]], [asked.pop, asked.pop]
  end

  def test_sources_of_curve_are_asked_in_order
    pairs = Array.new(4) { keypair }
    Godwit::Cert.new("file", keypair: pairs[0]).save_public(scratch_dir)
    asked = Thread::Queue.new
    auth.curve(
      dir: scratch_dir, keys: {"late" => pairs[0].public_key, "key" => pairs[1].raw_public_key}
    ) do |key, request|
      asked << [key, request.mechanism, request.domain, request.address]
      "block" if key == pairs[2].public_key
    end
    assert_equal [200, "file"], zap_curve(pairs[0])
    assert_equal [200, "key"], zap_curve(pairs[1])
    assert_empty asked
    assert_equal [200, "block"], zap_curve(pairs[2], domain: "d", address: "10.1.2.3")
    assert_equal [pairs[2].public_key, "CURVE", "d", "10.1.2.3"], asked.pop
    assert_equal NO, zap_curve(pairs[3])
    assert_equal [[200, "file"], NO],
      [zap_curve(pairs[0]), auth.curve(keys: {}) && zap_curve(pairs[0])]
  end

  def test_the_rule_of_a_domain_replaces_the_one_without
    general, own = keypair, keypair
    auth.curve(keys: {"general" => general.public_key})
    auth.curve(keys: {"own" => own.public_key}, domain: "billing")
    auth.plain(users: {"anna" => "general"}).plain(users: {"anna" => "own"}, domain: "billing")
    curve = ->(domain) { [general, own].map { |pair| zap_curve(pair, domain: domain) } }
    denied = ->(domain) { %w[1 2].map { |n| zap(address: "10.0.0.#{n}", domain: domain) } }
    ["", "other"].each { |domain| assert_equal [[200, "general"], NO], curve.call(domain) }
    assert_equal [NO, [200, "own"]], curve.call("billing")
    assert_equal [NO, [200, "anna"]],
      %w[general own].map { |password| zap_plain("anna", password, domain: "billing") }
    auth.deny("10.0.0.1").deny("10.0.0.2", domain: "billing")
    assert_equal [[NO, OK], [OK, NO]], [denied.call(""), denied.call("billing")]
    auth.reset(domain: "billing")
    assert_equal [[[200, "general"], NO], [NO, OK]], [curve.call("billing"), denied.call("billing")]
    auth.reset
    assert_equal [LATER, OK], [zap_curve(general), zap(address: "10.0.0.1")]
  end

  def test_domains_are_bytes
    auth.deny("10.0.0.1", domain: "b\xFF").deny("10.0.0.2", domain: "Zürich")
    assert_equal [NO, OK, OK],
      ["b\xFF", "b\xFE", "b?"].map { |domain| zap(address: "10.0.0.1", domain: domain) }
    assert_equal [NO, NO], ["Zürich", "Zürich".b].map { |domain|
      zap(address: "10.0.0.2", domain: domain)
    }
    assert_equal ["b?", "b?", "b?", "Zürich"], Array.new(4) { decision.domain }
  end

  def test_addresses
    auth.allow("10.0.0.0/8").allow("::1", "2001:db8::/32").deny("10.6.6.6").deny("10.6.6.7")
    %w[10.0.0.1 10.255.255.255 ::1 2001:db8:1::5 ::ffff:10.0.0.1 ::FFFF:10.1.1.1].each do |address|
      assert_equal OK, zap(address: address), address
    end
    ["10.6.6.6", "10.6.6.7", "::ffff:10.6.6.6", "11.0.0.1", "9.255.255.255", "::2",
      "2001:db9::1", "", "x", "10.0.0", "10.0.0.1.1", "\xff", "a" * 2000, "::ffff:11.0.0.1",
      "localhost"].each do |address|
      assert_equal NO, zap(address: address), address
    end
  end

  def test_a_rule_of_mapped_addresses_is_one_of_ipv4
    auth.allow("::ffff:10.6.0.0/112", "::ffff:10.7.7.7")
    assert_equal [OK, OK, OK, NO],
      %w[10.6.9.9 ::ffff:10.6.1.1 10.7.7.7 10.7.7.8].map { |address| zap(address: address) }
    auth.reset.allow("::/0")
    assert_equal [OK, NO], [zap(address: "fe80::1%eth0"), zap(address: "10.0.0.1")]
  end

  def test_ipc_clients_match_by_user_id_alone
    auth.allow(uid: 1000, domain: "local").deny(uid: [0, 7])
    assert_equal OK, zap(domain: "local", address: "localhost:1000:100:42")
    ["localhost:1001:100:42", "127.0.0.1", "localhost"].each do |address|
      assert_equal NO, zap(domain: "local", address: address)
    end
    assert_equal [NO, NO, OK],
      [0, 7, 8].map { |uid| zap(address: "localhost:#{uid}:0:1") }
    auth.allow("0.0.0.0/0", "::/0", domain: "net")
    assert_equal [OK, NO],
      ["127.0.0.1", "localhost:1000:100:42"].map { |address| zap(domain: "net", address: address) }
  end

  def test_allow_and_deny_stand_before_the_mechanism
    auth.plain(users: {"anna" => "secret"}).allow("10.0.0.0/8").deny("10.6.6.6")
    assert_equal [200, "anna"], zap_plain("anna", "secret", address: "10.0.0.1")
    assert_equal NO, zap_plain("anna", "secret", address: "10.6.6.6")
    assert_equal NO, zap_plain("anna", "secret", address: "11.0.0.1")
  end

  def test_a_block_hears_of_an_ipc_client
    heard = Thread::Queue.new
    auth.curve { |_, request| heard << request && nil }
    zap_curve(keypair, address: "localhost:1000:100:42")
    request = heard.pop
    assert_equal [1000, 100, 42, true], [request.uid, request.gid, request.pid, request.ipc?]
    zap_curve(keypair, address: "10.0.0.1")
    request = heard.pop
    assert_equal [nil, nil, nil, false], [request.uid, request.gid, request.pid, request.ipc?]
    assert_equal "#<Godwit::Auth::Request CURVE from \"10.0.0.1\" for \"\">", request.inspect
    zap_curve(keypair, address: "localhost:501:20:") # without a process id, as on macOS
    assert_nil heard.pop.pid
  end

  # When a rule method raises, the earlier rules stay in force.
  def test_rule_methods_check_their_arguments
    pair = keypair
    auth.curve(keys: {"anna" => pair.public_key}).plain(users: {"anna" => "secret"})
    auth.allow("127.0.0.1")
    value, cert = Godwit::ArgumentValueError, Godwit::CertError
    File.mkfifo(fifo = File.join(scratch_dir, "fifo"), 0o600)
    ["10.0.0.0/33", "x", "10.0.0.0/", "::1/129", 5, "::1%lo", "10.0.0.0/255.0.0.0",
      "::ffff:10.0.0.0/8"].each do |address|
      assert_named(value, /allow: an address/) { auth.allow(address) }
      assert_named(value, /deny: an address/) { auth.deny("::1", address) }
    end
    ["1000", -1, 1 << 32, [1, "x"]].each do |uid|
      assert_named(value, /uid:/) { auth.allow(uid: uid) }
    end
    ["", "a\0", "a" * 256, :billing].each do |domain|
      [-> { auth.allow("::1", domain: domain) }, -> { auth.curve(keys: :any, domain: domain) },
        -> { auth.plain(users: {}, domain: domain) }, -> { auth.reset(domain: domain) }]
        .each { |call| assert_named(value, /domain:/, &call) }
    end
    ["", "a\0b", "a" * 256, "\xff"].each do |id|
      assert_named(value, /user id/) { auth.curve(keys: {id => pair.public_key}) }
      assert_named(value, /name/) { auth.plain(users: {id => "secret"}) }
    end
    assert_mistakes(
      -> { auth.allow } => [value, /give an IP address/],
      -> { auth.curve } => [value, /give dir:, keys: or a block/],
      -> { auth.plain } => [value, /give users:, file: or a block/],
      -> { auth.curve(keys: {anna: pair.public_key}) } => [value, /user id/],
      -> { auth.curve(keys: {"x" => "short"}) } => [Godwit::CurveKeyError, /40 characters/],
      -> { auth.curve(keys: [pair.public_key]) } => [Godwit::ArgumentTypeError, /keys:/],
      -> { auth.curve(dir: "#{scratch_dir}/none") } => [cert, /No such file/],
      -> { auth.plain(file: "#{scratch_dir}/none") } => [cert, /No such file/],
      -> { auth.plain(file: fifo) } => [cert, /fifo: it is no regular file/]
    )
    [{"anna" => "Swordfish" * 50}, {"anna" => ""}, {"anna" => 5}, {anna: "Swordfish"},
      ["Swordfish"]].each do |users|
      error = assert_raises(ArgumentError, TypeError) { auth.plain(users: users) }
      assert_kind_of Godwit::Error, error
      refute_includes error.message, "Swordfish"
    end
    assert_equal [200, "anna"], zap_curve(pair)
    assert_equal [200, "anna"], zap_plain("anna", "secret")
    assert_equal NO, zap(address: "::1")
  end

  def test_the_certificate_of_a_user
    Godwit::Cert.new("anna", metadata: {"email" => "a@b"}).save_public(scratch_dir)
    other = File.join(scratch_dir, "other")
    Dir.mkdir(other)
    Godwit::Cert.new("anna", metadata: {"email" => "other"}).save_public(other)
    Godwit::Cert.new("otto", metadata: {"email" => "o@b"}).save_public(other)
    assert_nil auth.cert("anna")
    email = ->(*of, **domain) { auth.cert(*of, **domain)&.metadata&.fetch("email") }
    auth.curve(dir: other, domain: "other")
    assert_equal "other", email.call("anna")
    auth.curve(dir: scratch_dir)
    assert_equal ["a@b", "o@b", nil, nil], ["anna", "otto", "nobody", nil].map(&email)
    assert_equal ["other", "a@b", nil],
      [email.call("anna", domain: "other"), email.call("anna", domain: "third"),
        email.call("otto", domain: "third")]
  end

  def test_what_new_takes
    assert_named(Godwit::ArgumentTypeError, /context:/) { Godwit::Auth.new(context: 5) }
    wrong = {timeout: [0, -1, "5", nil, Float::INFINITY], workers: [0, -1, 1.5, nil]}
    wrong.flat_map { |name, values| [name].product(values) }.each do |name, bad|
      assert_named(Godwit::ArgumentValueError, /#{name}:.*got #{bad.inspect}/) do
        Godwit::Auth.new(:context => context, name => bad)
      end
    end
    assert_named(Godwit::UnsupportedError, /cannot be copied/) { auth.dup }
  end
end
