# frozen_string_literal: true

require "test_helper"

# The load path without and with the layer.
class RbczmqLoadPathTest < Godwit::TestCase
  def output(script, *options)
    child = start_command([*RUBY, "-W", "-Ilib", *options, "-e", script])
    assert_child(child.finish).stdout
  end

  test "with the layer, zmq and rbczmq are ours, and each loads the other" do
    %w[zmq rbczmq].each do |feature|
      script =
        %(p require("#{feature}"), ZMQ::Context, ZL,
          $LOADED_FEATURES.grep(%r{load_path/rbczmq/zmq}).size, require("zmq"))
      assert_equal %w[true ZMQ::Context ZMQ::Loop 1 false],
        output(script, "-rgodwit/compat/rbczmq").split
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

  test "a require in the script has the same effect, and a second require has none" do
    assert_equal "ZMQ::Context\n1\n", output(<<~RUBY)
      require "godwit/compat/rbczmq"
      require "godwit/compat/rbczmq"
      require "rbczmq"
      p ZMQ::Context, $LOAD_PATH.grep(%r{load_path/rbczmq}).size
    RUBY
  end

  test "where another ZMQ is loaded, the layer raises" do
    assert_match(/another gem has defined module ZMQ already/, output(<<~RUBY))
      module ZMQ; end
      begin
        require "godwit/compat/rbczmq"
      rescue LoadError => error
        puts error.message
      end
    RUBY
  end

  test "a process has one layer, whatever the order" do
    [%w[rbczmq ffi_rzmq], %w[ffi_rzmq rbczmq]].each do |first, second|
      assert_match(/godwit\/compat\/#{first} is loaded: #{second} defines module ZMQ too/,
        output(<<~RUBY))
          require "godwit/compat/#{first}"
          begin
            require "godwit/compat/#{second}"
          rescue LoadError => error
            puts error.message
          end
        RUBY
    end
  end

  test "another layer on the load path is refused when ZMQ loads" do
    assert_match(/ffi_rzmq is loaded: rbczmq defines module ZMQ too/, output(<<~RUBY))
      require "godwit/compat/rbczmq"
      $LOAD_PATH.push(File.expand_path("lib/godwit/compat/load_path/ffi_rzmq"))
      begin
        require "zmq"
      rescue LoadError => error
        puts error.message
      end
    RUBY
  end

  test "another gem's ZMQ that was loaded after the layer is not mixed with ours" do
    assert_match(/another gem has defined module ZMQ already/, output(<<~RUBY))
      require "godwit/compat/rbczmq"
      eval("module ZMQ; class Context; end; end", nil, "/gems/ffi-rzmq/context.rb")
      begin
        require "rbczmq"
      rescue LoadError => error
        puts error.message
      end
    RUBY
  end
end
