# frozen_string_literal: true

module Godwit
  # Stands for the modules of lib/godwit/socket/hooks.rb, which mruby does not have.
  class Socket
    module Counts
    end

    module Monitoring
    end

    module UnknownMethods
    end

    # Without a monitor nothing is known of a time-out's reason.
    module TimeOuts
      # @private
      def finding(_operation) = nil
    end

    module Authentication
      def self.options(_type, _defaults, domain, options)
        Hooks.refuse(:auth) unless domain.nil?
        options
      end

      def self.apply(*)
      end
    end

    {
      Encodings: :encoding, Frames: :copy_threshold, Peers: :count_peers, Formatted: :format
    }.each do |name, keyword|
      absent = const_set(name, Module.new)
      absent.define_singleton_method(:start) { |*| }
      absent.define_singleton_method(:check) do |_socket, value|
        Hooks.refuse(keyword) if value && !Timeout::UNSET.equal?(value)
      end
    end

    module Hooks
      def self.refuse(keyword)
        raise Errors.build(UnsupportedError, :new, nil,
          "#{keyword}: is not there on mruby: docs/mruby.md gives the reason")
      end
    end

    # A fiber cannot wait for a lock, since the host decides which one runs. So a request during
    # another fiber's request is refused. The request of a dropped fiber ends by its time-out.
    module OneRequest
      private

      def exchange(message, limit)
        refuse_second if @open
        recreate if @open # the reply to the open request must not come now
        @open = mine = [limit && Timeout.now + limit]
        reply = super
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
    Request.prepend(OneRequest)
  end

  # mruby has no Godwit.metrics.
  module Registry
    def self.add(_socket)
    end

    def self.closed(_socket)
    end
  end
end
