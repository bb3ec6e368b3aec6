# frozen_string_literal: true

require "test_helper"

# Ruby's load path with and without the layer for rbczmq.
class RbczmqLoadPathTest < Godwit::TestCase
  def output(script, *options)
    child = start_command([*RUBY, "-W", "-Ilib", *options, "-e", script])
    assert_child(child.finish).stdout
  end

  # Feature to require => code, and options of Ruby, that load the layer before this `require`.
  LOADED = {
    "zmq" => ["", "-rgodwit/compat/rbczmq"], "rbczmq" => [%(require "godwit/compat/rbczmq"\n) * 2]
  }.freeze

  test "with the layer, zmq and rbczmq are ours, and each loads the other; twice is once" do
    LOADED.each do |feature, (before, *options)|
      assert_equal %w[true ZMQ::Context ZMQ::Loop 1 1 false], output(<<~RUBY, *options).split
        #{before}p require("#{feature}"), ZMQ::Context, ZL,
          $LOADED_FEATURES.grep(%r{load_path/rbczmq/zmq}).size,
          $LOAD_PATH.grep(%r{load_path/rbczmq}).size, require("zmq")
      RUBY
    end
  end

  test "without the layer Godwit shadows nothing" do
    assert_equal "[]\n[]\nnil\n", output(<<~RUBY, "-rgodwit")
      p $LOAD_PATH.grep(%r{compat/load_path})
      p %w[zmq rbczmq]
          .filter_map { |feature| $LOAD_PATH.resolve_feature_path(feature) }
          .flatten
          .grep(/godwit/)
      p defined?(ZMQ)
    RUBY
  end

  # What the program loads first => the feature that it then requires, and the error of that call.
  REFUSED = {
    "module ZMQ; end" =>
      ["godwit/compat/rbczmq", /another gem has defined module ZMQ already/],
    'require "godwit/compat/rbczmq"' =>
      ["godwit/compat/ffi_rzmq", /compat.rbczmq is loaded: ffi_rzmq defines module ZMQ too/],
    'require "godwit/compat/ffi_rzmq"' =>
      ["godwit/compat/rbczmq", /compat.ffi_rzmq is loaded: rbczmq defines module ZMQ too/],
    'require "godwit/compat/rbczmq"
     $LOAD_PATH.push(File.expand_path("lib/godwit/compat/load_path/ffi_rzmq"))' =>
      ["zmq", /ffi_rzmq is loaded: rbczmq defines module ZMQ too/],
    'require "godwit/compat/rbczmq"
     eval("module ZMQ; class Context; end; end", nil, "/gems/ffi-rzmq/context.rb")' =>
      ["rbczmq", /another gem has defined module ZMQ already/]
  }.freeze

  test "a process has one ZMQ: another gem's or layer's is refused, whatever the order" do
    REFUSED.each do |before, (feature, error)|
      assert_match error, output(<<~RUBY), before
        #{before}
        begin
          require "#{feature}"
        rescue LoadError => error
          puts error.message
        end
      RUBY
    end
  end
end
