# frozen_string_literal: true

require_relative "debian_source"

module Godwit
  # The librdkafka of the newest gem karafka-rdkafka. The gem is only unpacked: it may want a newer
  # Ruby.
  module NewestLibrdkafka
    GEM = "karafka-rdkafka"
    FOLDER = File.expand_path("../../tmp/newest-librdkafka", __dir__)
    Failure = DebianSource::Failure
    private_constant :GEM, :FOLDER

    # Asks the gem server once in a process.
    # @return [String] path of librdkafka.so
    # @raise [Failure] without network, or when the gem has no such file
    def self.path = @path ||= fetch

    def self.fetch
      FileUtils.rm_rf(FOLDER)
      FileUtils.mkdir_p(FOLDER)
      DebianSource.run("gem", "fetch", GEM, chdir: FOLDER)
      DebianSource.run("gem", "unpack", *Dir.children(FOLDER), chdir: FOLDER)
      Dir["#{FOLDER}/*/ext/librdkafka.so"].first ||
        raise(Failure, "#{Dir.children(FOLDER).join(", ")} has no ext/librdkafka.so")
    end
    private_class_method :fetch
  end
end
