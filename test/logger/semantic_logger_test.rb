# frozen_string_literal: true

require "test_helper"
require_relative "logs"

# Godwit's appender for the gem semantic_logger.
class SemanticLoggerTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  PRELUDE = <<~RUBY
    require "godwit/semantic_logger"
    SemanticLogger.default_level = :trace
    class Billing
      include SemanticLogger::Loggable
    end
  RUBY

  # @param options [String] source of further options of the appender, after a comma
  def logs(source, options = "")
    assert_child run_child(<<~RUBY, [record_pull.last_endpoint], gems: true)
      #{PRELUDE}
      SemanticLogger.add_appender(appender: :godwit, endpoint: ARGV[0]#{options})
      #{source}
      SemanticLogger.flush
      SemanticLogger.close
    RUBY
  end

  test "the registry finds it by its name; level, class, text, payload, tags, named tags, an " \
    "exception and a duration arrive" do
    logs(<<~RUBY)
      Billing.logger.trace("seen")
      SemanticLogger.application = "shop"
      SemanticLogger.tagged("req-9") do
        SemanticLogger.named_tagged(user: 7) { Billing.logger.error("card refused", user: 42) }
      end
      begin
        raise KeyError, "no such key"
      rescue => error
        Billing.logger.fatal("saving failed", error)
      end
      Billing.logger.measure_info("slept") { nil }
    RUBY
    seen, tagged, failed, measured = records(4)
    assert_equal ["DEBUG", "seen"], [seen.label, seen.text]
    refute_nil seen.payload["thread"]
    assert_equal ["ERROR", "card refused", "shop", ["req-9"], 42, "Billing", {"user" => 7}],
      [tagged.label, tagged.text, tagged.prog, tagged.tags,
        *tagged.payload.values_at("user", "name", "named_tags")]
    assert_equal ["FATAL", "saving failed", "KeyError", "no such key"],
      [failed.label, failed.text, *failed.error.values_at("class", "message")]
    assert_kind_of Float, measured.payload["duration_ms"]
  end

  test "an error alone, after a text, after a payload: class, message and place are shown" do
    logs(<<~RUBY)
      error = KeyError.new("no such key")
      error.set_backtrace(["app.rb:3:in `save'", "app.rb:9:in `<main>'"])
      Billing.logger.error(error)
      Billing.logger.error("saving failed", error)
      Billing.logger.error("saving failed", {user: 42}, error)
      Billing.logger.error("saving failed", {user: 42, exception: "told"}, error)
      Billing.logger.error("saving failed", error: error)
    RUBY
    alone, *others = records(5)
    assert_equal ["no such key (KeyError)", "no such key (KeyError) at app.rb:3:in `save'\n"],
      [alone.text, alone.to_s[/ -- [^:]+: (.*)\z/m, 1]]
    others.each do |one|
      assert_equal ["saving failed", "KeyError"], [one.text, one.error["class"]]
      assert_match(/saving failed  no such key \(KeyError\) at app.rb:3:in `save'$/, one.to_s)
    end
    assert_equal [nil, 42, 42, nil], others.map { |one| one.payload["user"] }
  end

  test "a formatter, a level and a filter work as with every appender" do
    logs(<<~RUBY, <<~OPTIONS)
      Billing.logger.info("below")
      SemanticLogger["Other"].error("filtered")
      Billing.logger.warn("shown")
    RUBY
      , level: :warn, filter: /Billing/, formatter: ->(log, _) { "<\#{log.message}>" },
      application: "shop"
    OPTIONS
    assert_equal ["<shown>", "shop"], record.then { |one| [one.text, one.prog] }
  end
end
