# frozen_string_literal: true

require "test_helper"

# The choice of the backend, and the errors when its libzmq cannot be loaded.
class LoadingTest < Godwit::TestCase
  PROGRAM = <<~RUBY
    begin
      require "godwit"
      puts Godwit::BACKEND, Godwit.libzmq_version
    rescue LoadError => error
      puts error.message, error.cause.inspect
    end
  RUBY

  def load_with(**env)
    env = {"GODWIT_BACKEND" => "ffi", **env.transform_keys(&:to_s)}
    assert_child(run_child(PROGRAM, gems: true, env: env)).stdout
  end

  test "GODWIT_BACKEND=ffi loads the FFI backend, an empty value and none the extension" do
    not_on :jruby, "there is no extension there"
    assert_match(/\Affi\n4\.\d/, load_with)
    assert_match(/\Anative\n4\.\d/, load_with(GODWIT_BACKEND: ""))
    assert_match(/\Anative\n4\.\d/, load_with(GODWIT_BACKEND: nil))
  end

  test "a backend that does not exist is refused" do
    assert_equal "GODWIT_BACKEND takes native or ffi: got \"fii\"\nnil\n",
      load_with(GODWIT_BACKEND: "fii")
  end

  test "JRuby and TruffleRuby choose FFI by themselves, and the variable may override it" do
    assert_equal %w[ffi ffi native],
      %w[jruby truffleruby ruby].map { |engine| Godwit::Backend.choose(nil, engine) }
    assert_equal "native", Godwit::Backend.choose("native", "jruby")
  end
end
