# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../conformance/authenticated"
require_relative "czmq"

# CZMQ's encoding of messages, its certificates and its file of passwords.
class InteropCzmqTest < Godwit::TestCase
  include Conformance::Authenticated

  Czmq = Godwit::TestSupport::Czmq
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES = [[""], ["", ""], ["a", "", "b"], [BINARY, "", BINARY.reverse], ["grün"], ["x" * 254],
    ["x" * 255], ["x" * 256], ["x" * 70_000, "", "y"],
    Array.new(100) { |number| number.to_s * number }].map { |frames| frames.map(&:b).freeze }.freeze

  def setup
    super
    skip Czmq.missing if Czmq.missing
  end

  # @return [Array<String>] the lines of czmq_tool.c
  def czmq(*words, input: "", status: 0)
    said, ended = Open3.capture2(Czmq.program, *words, stdin_data: input)
    assert_equal status, ended.exitstatus, said
    said.lines(chomp: true)
  end

  # @param messages [Array<Array<String>>]
  # @return [Array<Array<String>, nil>]
  def convert(how, messages)
    lines = messages.map { |frames| "#{frames.map { |frame| Czmq.hex(frame) }.join(" ")}\n" }
    czmq(how, input: lines.join).map do |line|
      line.split.map { |word| (word == "-") ? "".b : [word].pack("H*") } unless line == "none"
    end
  end

  test "encode and zmsg_encode write the same bytes, and read each other's" do
    encodings = SHAPES.map { |frames| Godwit::Message.new(*frames).encode }
    assert_equal convert("encode", SHAPES).flatten, encodings
    assert_equal SHAPES, convert("decode", encodings.zip)
    assert_equal SHAPES, encodings.map { |one| Godwit::Message.decode(Godwit::Frame.new(one)).to_a }
    assert_empty Godwit::Message.decode(Godwit::Message.new.encode).to_a
  end

  test "both refuse an encoding that is cut short" do
    cut = ["\x05abc", "\xff\0\0", "\x01a\xff\0\0\1\0abc"].map(&:b)
    cut.each { |data| assert_raises(Godwit::MessageError) { Godwit::Message.decode(data) } }
    assert_equal [nil] * 3, convert("decode", cut.zip)
  end

  test "CZMQ loads certificates that Godwit wrote, and Godwit those that CZMQ wrote" do
    metadata = {"email" => "a@b", "said" => 'so "it" is', "name" => "Anna"}
    anna = Godwit::Cert.new(metadata: metadata)
    public_file, secret_file = anna.save(scratch_dir)
    # zcert_load takes the name of the public file, and reads the secret one beside it.
    loaded = czmq("load", public_file)
    assert_equal [anna.public_key, anna.keypair.secret_key], loaded.first(2)
    assert_equal metadata.map { |pair| pair.join("=") }.sort, loaded.drop(2).sort
    File.unlink(secret_file)
    assert_equal [anna.public_key, "0" * 40], czmq("load", public_file).first(2)
    assert_equal loaded.drop(2).sort, czmq("lookup", scratch_dir, anna.public_key).sort
    assert_empty czmq("lookup", scratch_dir, Godwit::Cert.new.public_key, status: 1)

    Dir.mkdir(path("theirs"))
    keys = czmq("save", path("theirs", "otto.key"), "email", "o@b", "full name", "Otto O'Neill")
    store = Godwit::CertStore.new(path("theirs"))
    cert = store.by_key(keys[0])
    assert_equal ["otto", keys[0], {"email" => "o@b", "full name" => "Otto O'Neill"}],
      [cert.name, cert.public_key, cert.metadata]
    assert_equal [["otto"], []], [store.map(&:name), store.problems]
    assert_equal keys[1], Godwit::Cert.load(path("theirs", "otto.key_secret")).keypair.secret_key
  end

  test "CZMQ and Auth read the same file of passwords" do
    File.write(path("passwords"), "# users\nanna=secret\n", perm: 0o600)
    assert_equal ["secret"], czmq("password", path("passwords"), "anna")
    auth.plain(file: path("passwords"))
    assert_equal [200, "anna"], zap("anna", "secret", mechanism: "PLAIN")
    assert_equal [400, ""], zap("anna", "guess", mechanism: "PLAIN")
  end
end
