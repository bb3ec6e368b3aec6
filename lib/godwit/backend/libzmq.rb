# frozen_string_literal: true

module Godwit
  module Backend
    # The errors about an absent or old libzmq, for both backends.
    # @private
    module Libzmq
      OLDEST = [4, 3, 0].freeze
      PACKAGES =
        "Debian and Ubuntu: apt-get install libzmq5; Fedora: dnf install zeromq; Alpine: apk add " \
        "libzmq; macOS: brew install zeromq"
      ABSENT = /no such file|image not found|cannot find/i # a loader's words for a missing file

      module_function

      # `messages`: the loader's message for each name. Messages about absent files appear in the
      # error only if there are no others. `instead` says how to choose another libzmq.
      def not_found(names, where, messages, instead)
        telling = messages.grep_v(ABSENT).uniq
        what = telling.empty? ? "was not found" : "could not be loaded"
        telling = messages.first(1) if telling.empty?
        own = "  or unset GODWIT_BACKEND: this gem has a libzmq of its own\n" if PACKAGED.any?
        LoadError.new("libzmq #{what}: looked for #{names.join(", ")} in #{where}\n" \
          "  install it: #{PACKAGES}\n  #{instead}\n#{own}" \
          "  the loader said: #{telling.join("\n                   ")}")
      end

      def check_version(version, path, instead)
        return if (version <=> OLDEST) >= 0
        raise LoadError, "Godwit needs libzmq 4.3 or newer: #{path} is #{version.join(".")}\n" \
          "  install it: #{PACKAGES}\n  #{instead}"
      end

      def folders
        "LD_LIBRARY_PATH (#{ENV["LD_LIBRARY_PATH"].inspect}), the system's library folders"
      end
    end
  end
end
