# frozen_string_literal: true

module Godwit
  # The parts of a socket that mruby does not have. mruby/lib/socket_parts.rb stands for this file
  # there.
  class Socket
    include Counts
    include Encodings
    include Frames
    include Monitoring
    include Peers
    include TimeOuts
    include UnknownMethods

    private

    # @return [Hash] the options, with those that `auth:` stands for
    def with_auth(auth, options)
      return options if auth.nil?
      Authentication.options(type, @context.socket_options, auth, options)
    end

    # Checks the keywords of these parts before libzmq makes a socket.
    # @return [Array] what {#start_parts} takes
    def check_parts(encoding, copy_threshold, count_peers, format)
      encoding &&= find_encoding(encoding)
      copy_threshold = Frame::COPY_THRESHOLD if Timeout::UNSET.equal?(copy_threshold)
      format = Formatted.find(format, type) unless format.nil?
      [encoding, Frame.threshold(:new, copy_threshold), count_peers, format]
    end

    def start_parts(auth, settings, encoding, copy_threshold, count_peers, format)
      Authentication.apply(self, auth, settings)
      _set_encoding(encoding) if encoding
      _set_copy_threshold(copy_threshold)
      count_peers(count_peers)
      Formatted.start(self, format) if format
      Registry.add(self)
    end

    def leave_registry
      Registry.closed(self)
      nil
    end
  end

  if defined?(Backend::IMPLEMENTATION::Takeover) && !ENV["GODWIT_NO_TAKEOVER"]
    Socket.__send__(:include, Backend::IMPLEMENTATION::Takeover) # YARD cannot follow an include
  else
    Socket.include(Socket::CountedArguments)
  end
end
