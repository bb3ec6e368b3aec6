# frozen_string_literal: true

module Godwit
  module Formats
    # MessagePack, by the gem msgpack; `load` returns the keys of maps as Symbols.
    module Msgpack
      class << self
        def require_library
          require "msgpack" unless defined?(::MessagePack::VERSION) # only the main Ractor can
        rescue LoadError => error
          raise ArgumentValueError, "format: :msgpack needs the gem msgpack (#{error.message}): " \
            "gem install msgpack, or gem \"msgpack\" in the Gemfile"
        end

        def dump(value)
          ::MessagePack.pack(value)
        rescue => error
          raise FormatError, "MessagePack cannot hold this value " \
            "(#{Printable.line(error.message)}): convert it, or use another format:"
        end

        def load(bytes)
          ::MessagePack.unpack(bytes, symbolize_keys: true)
        rescue => error
          raise FormatError.new(
            "this value is no MessagePack: #{error.class}: #{Printable.line(error.message)}",
            bytes: bytes
          )
        end
      end
    end
  end
end
