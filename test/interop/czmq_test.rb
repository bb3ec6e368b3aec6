# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "czmq"

# CZMQ and Godwit read each other's encoded messages and certificates.
class InteropCzmqTest < Godwit::TestCase
  Czmq = Godwit::TestSupport::Czmq
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES = [[""], ["", ""], ["a", "", "b"], [BINARY, "", BINARY.reverse], ["grün"], ["x" * 254],
    ["x" * 255], ["x" * 256], ["x" * 70_000, "", "y"],
    Array.new(100) { |number| number.to_s * number }].map { |frames| frames.map(&:b).freeze }.freeze

  def setup
    super
    skip Czmq.missing if Czmq.missing
  end

  # @return [Array<String>] the lines that the program of czmq_tool.c prints
  def czmq(*words, input: "")
    said, ended = Open3.capture2(Czmq.program, *words, stdin_data: input)
    assert_predicate ended, :success?, said
    said.lines(chomp: true)
  end

  # @param how [String] "encode" or "decode", a command of czmq_tool.c
  # @return [Array<Array<String>>] the words of each line that czmq_tool.c prints, as bytes
  def convert(how, messages)
    lines = messages.map { |frames| "#{frames.map { |frame| Czmq.hex(frame) }.join(" ")}\n" }
    czmq(how, input: lines.join).map do |line|
      line.split.map { |word| (word == "-") ? "".b : [word].pack("H*") }
    end
  end

  test "encode and zmsg_encode write the same bytes, and read each other's" do
    encodings = SHAPES.map { |frames| Godwit::Message.new(*frames).encode }
    assert_equal convert("encode", SHAPES).flatten, encodings
    assert_equal SHAPES, convert("decode", encodings.zip)
    assert_equal SHAPES, encodings.map { |one| Godwit::Message.decode(Godwit::Frame.new(one)).to_a }
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

    Dir.mkdir(path("theirs"))
    keys = czmq("save", path("theirs", "otto.key"), "email", "o@b", "full name", "Otto O'Neill")
    store = Godwit::CertStore.new(path("theirs"))
    cert = store.by_key(keys[0])
    assert_equal ["otto", keys[0], {"email" => "o@b", "full name" => "Otto O'Neill"}],
      [cert.name, cert.public_key, cert.metadata]
    assert_equal [["otto"], []], [store.map(&:name), store.problems]
    assert_equal keys[1], Godwit::Cert.load(path("theirs", "otto.key_secret")).keypair.secret_key
  end
end
