# frozen_string_literal: true

module ZMQ
  class Socket
    # Options, by libzmq's numbers and in libzmq's units. The calls return 0 or -1.
    module Options
      RANGES = {
        int64: -(1 << 63)..(1 << 63) - 1, uint64: 0..(1 << 64) - 1, id32: 0..(1 << 32) - 1
      }.tap { |ranges| ranges.default = -(1 << 31)..(1 << 31) - 1 }.freeze
      BY_ID =
        Godwit::Options::SOCKET.each_value.uniq(&:id).to_h { |option| [option.id, option] }.freeze
      private_constant :RANGES, :BY_ID

      # @param value [Integer, String] times are milliseconds
      # @param length [Integer, nil] how many bytes of a String; nil: all
      def setsockopt(name, value, length = nil)
        return failed(ENOTSOCK) unless @godwit
        option = BY_ID[name]
        raw = raw_value(option, value, length) if option&.writable?
        return failed(EINVAL) if raw.nil?
        if option.name == :conflate && @name == "PUB"
          conflate_publisher(option, raw)
        else
          store(option, raw)
        end
        @relaxed = raw != 0 if option.name == :relaxed
        0
      rescue Godwit::Error => error
        record(error)
      end

      # @param array [Array] its first element becomes the value: an Integer, a String, or true or
      #   false (`RCVMORE`)
      def getsockopt(name, array)
        return failed(ENOTSOCK) unless @godwit
        option = BY_ID[name]
        return failed(EINVAL) unless option&.readable?
        array[0] = read(option)
        0
      rescue Godwit::Error => error
        record(error)
      end

      # @return [String, nil] a ROUTER at the other end knows the socket by this name; nil when the
      #   socket is closed
      def identity
        array = []
        getsockopt(IDENTITY, array)
        array.first
      end

      # @param value [#to_s] 1 to 255 bytes, before it connects
      def identity=(value)
        setsockopt(IDENTITY, value.to_s)
      end

      private

      # @return [Integer, String, nil] nil when the option does not take the value
      def raw_value(option, value, length)
        # A Godwit::PUB is an XPUB of libzmq, which takes more options.
        return unless option.types.nil? || @name != "PUB" || option.for_type?(:PUB)
        if %i[bytes text key].include?(option.type)
          return unless value.is_a?(String)
          length ? value.byteslice(0, length) : value.b
        elsif value.is_a?(Integer) && RANGES[option.type].cover?(value)
          (option.type == :id32) ? [value].pack("L") : value
        end
      end

      # libzmq 3 ignored a high-water mark set after the first bind or connect.
      def store(option, raw)
        @godwit.store(option, raw, raw)
      rescue Godwit::StateError
        raise unless option.fixed?
      else
        (@settings ||= []) << [option, raw]
      end

      # libzmq does not conflate on an XPUB, so a conflating Godwit::PUB takes the socket's place.
      def conflate_publisher(option, raw)
        raise option.error("goes before the first bind or connect") if @godwit.endpoints.any?
        raise option.error("takes 0 or 1") unless [0, 1].include?(raw)
        old = @godwit
        take_over(Godwit::PUB.new(context: old.context, conflate: raw == 1))
        @settings&.each { |other, value| @godwit.store(other, value, value) }
        old.close
      end

      def read(option)
        case option.name
        when :recv_more then rest?
        when :events
          bits = @godwit.__send__(:_wait, POLLIN | POLLOUT, 0) || 0
          rest? ? bits | POLLIN : bits
        when :zmq_fd then @godwit.zmq_fd
        else
          raw = @godwit.__send__(:_get_option, option.id)
          case option.type
          when :text then "#{raw}\0".b # ffi-rzmq returns libzmq's NUL too
          when :key then Godwit::Z85.encode(raw)
          when :uint64 then [raw].pack("Q").unpack1("q")
          else raw
          end
        end
      end
    end
  end
end
