# frozen_string_literal: true

module Godwit
  # Stands for lib/godwit/socket_parts.rb, whose parts mruby does not have.
  class Socket
    include Backend::MRuby::Takeover

    # @private
    # Without a monitor nothing is known of a time-out's reason.
    def finding(_operation) = nil

    private

    def with_auth(auth, options)
      raise missing("auth") unless auth.nil?
      options
    end

    def check_parts(encoding, copy_threshold, count_peers, format)
      raise missing("encoding") if encoding
      raise missing("copy_threshold") unless Timeout::UNSET.equal?(copy_threshold)
      raise missing("count_peers") if count_peers
      raise missing("format") unless format.nil?
      []
    end

    def start_parts(_auth, _settings)
    end

    def leave_registry
    end

    def missing(keyword)
      Errors.build(UnsupportedError, :new, nil,
        "#{keyword}: is not there on mruby: docs/mruby.md gives the reason")
    end
  end

  class Socket
    # A fiber cannot wait for a lock, since the host decides which one runs. So a request during
    # another fiber's request is refused. Of a fiber that was dropped, time ends the request.
    module Request
      private

      alias_method :exchange_alone, :exchange

      def exchange(message, limit)
        refuse_second if @open
        recreate if @open # its reply must not come now
        @open = mine = [limit && Timeout.now + limit]
        reply = exchange_alone(message, limit)
        refuse_second unless @open.equal?(mine)
        reply
      ensure
        @open = nil if @open.equal?(mine)
      end

      def refuse_second
        finish = @open && @open[0]
        return if finish && Timeout.now > finish
        raise Errors.build(BusyError, :request, endpoints.first,
          "another fiber's request is open: wait for its end, or use one REQ for each fiber")
      end
    end
  end
end
