# frozen_string_literal: true

require "test_helper"
require_relative "../../../rakelib/support/debian_source"

class DebianSourceTest < Godwit::TestCase
  test "a source with another SHA-256 sum, or without a file, is refused before it is unpacked" do
    {"x.dsc" => Digest::SHA256.hexdigest("x").inspect, "y.dsc" => "nil"}.each do |name, found|
      ran = []
      run = lambda do |program, *, chdir:|
        ran << program
        File.write("#{chdir}/x.dsc", "x") # apt-get writes this file
      end
      error = Godwit::DebianSource.stub(:lists, []) do
        Godwit::DebianSource.stub(:run, run) do
          assert_raises(Godwit::DebianSource::Failure) do
            Godwit::DebianSource.fetch("x", scratch_dir, sums: {name => "0" * 64})
          end
        end
      end
      assert_equal "#{name} has the SHA-256 sum #{found}, not #{"0" * 64}", error.message
      assert_equal ["apt-get"], ran
    end
  end
end
