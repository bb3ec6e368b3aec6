# frozen_string_literal: true

require_relative "backend/contract"
require_relative "backend/libzmq"

module Godwit
  # Calls libzmq: through the C extension on CRuby, through the gem ffi on other Rubies and with
  # GODWIT_BACKEND=ffi. A backend supplies the primitives that {Contract} lists.
  # @private
  module Backend
    CHOICES = %w[native ffi].freeze
    WITHOUT_EXTENSION = %w[jruby truffleruby].freeze
    # The platform gem has one compiled extension for each Ruby version, such as 3.1/godwit_ext.so.
    PACKAGED = Dir[File.expand_path("[0-9]*.[0-9]*/godwit_ext.so", __dir__)].sort.freeze

    def self.choose(wanted = ENV["GODWIT_BACKEND"], engine = RUBY_ENGINE)
      return WITHOUT_EXTENSION.include?(engine) ? "ffi" : "native" if wanted.nil? || wanted.empty?
      return wanted if CHOICES.include?(wanted)
      raise LoadError, "GODWIT_BACKEND takes #{CHOICES.join(" or ")}: got #{wanted.inspect}"
    end

    IMPLEMENTATION =
      if choose == "ffi"
        require_relative "backend/ffi"
        FFI
      else
        require_relative "backend/native"
        Native
      end
    Contract.check(IMPLEMENTATION)
    # The backend's versions of `send`, `<<` and `recv`, which replace those of {Socket::Messages}.
    TAKEOVER = IMPLEMENTATION::Takeover
  end

  # @return [Symbol] the running backend: `:native`, the C extension, or `:ffi`
  BACKEND = Backend::IMPLEMENTATION::NAME
end
