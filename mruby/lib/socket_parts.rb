# frozen_string_literal: true

module Godwit
  # Stands for lib/godwit/socket_parts.rb, whose parts mruby does not have.
  class Socket
    include Backend::MRuby::Takeover

    private

    def with_auth(auth, options)
      raise missing("auth") unless auth.nil?
      options
    end

    def check_parts(encoding, copy_threshold, count_peers)
      raise missing("encoding") if encoding
      raise missing("copy_threshold") unless Timeout::UNSET.equal?(copy_threshold)
      raise missing("count_peers") if count_peers
      []
    end

    def start_parts(_auth, _settings)
    end

    def missing(keyword)
      Errors.build(UnsupportedError, :new, nil,
        "#{keyword}: is not there on mruby: docs/mruby.md gives the reason")
    end
  end
end
