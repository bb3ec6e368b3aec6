# frozen_string_literal: true

require "test_helper"
require "godwit/work"
require "godwit/work/cli"
require "support/kafka_log"

module Godwit
  # The base of the tests in work/: Ruby children find godwit-work and sqlite3, without Bundler.
  class WorkCase < TestCase
    FOLDERS = ["lib", "work/lib", *Gem.loaded_specs.fetch("sqlite3").full_require_paths].freeze

    # The command `godwit-work`.
    GODWIT_WORK = [
      *RUBY, *GEMS[false], "-W", *FOLDERS.map { |folder| "-I#{folder}" }, "work/exe/godwit-work"
    ].freeze

    def child_folders = FOLDERS

    # @param runtime [Symbol] also :kafka
    def not_on(runtime, reason)
      skip("not on #{runtime}: #{reason}") if runtime == :kafka && KafkaLog::ON
      super
    end
  end
end
