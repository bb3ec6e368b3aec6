# frozen_string_literal: true

require_relative "support/other_bundle"

namespace :logger do
  desc "The logger's tests at full size: eight threads with 50,000 records each, a million calls " \
    "with no reader"
  task long: :compile do
    %w[threads cost].each do |name|
      sh(
        {"GODWIT_TEST_RECORDS" => "50000", "GODWIT_TEST_CALLS" => "900000"}, RbConfig.ruby,
        "-Ilib", "-Itest", "test/logger/#{name}_test.rb"
      )
    end
  end

  desc "The tests with ActiveSupport on 7.1, which runs some blocks twice (Gemfile has 7.2)"
  task active_support_7_1: :compile do
    Godwit::OtherBundle.new("test/logger/active_support_7_1.gemfile")
      .run("test/logger/active_support_test.rb")
  end
end
